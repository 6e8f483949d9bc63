#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/kernels/decode/clip_attributes.h"
#include "tf_nvcodec/kernels/decode/clip_batch.h"
#include "tf_nvcodec/kernels/tensors/batch_shape.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

class DecodeClipsOp : public OpKernel {
 public:
  explicit DecodeClipsOp(OpKernelConstruction* context)
      : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {
    OP_REQUIRES_OK(context, arguments_.decode.Read(context));
    OP_REQUIRES_OK(context, ReadClipAttributes(context, &arguments_.clips));
    float center_crop = 0;
    OP_REQUIRES_OK(context, context->GetAttr("center_crop", &center_crop));
    OP_REQUIRES(context, center_crop >= 0 && center_crop <= 1,
                absl::InvalidArgumentError(
                    absl::StrCat("center_crop must be above 0 and at most 1, got ", center_crop)));
    arguments_.center_crop = center_crop;
  }

  // Decoding takes long; see DecodeOp.
  bool IsExpensive() final { return true; }

  void Compute(OpKernelContext* context) final { OP_REQUIRES_OK(context, Decode(context)); }

 private:
  absl::Status Decode(OpKernelContext* context) const {
    ClipBatchArguments arguments = arguments_;
    NVC_RETURN_IF_ERROR(ReadInputs(context, &arguments));
    const Tensor& contents = context->input(0);
    const int64_t videos = contents.dim_size(0);
    NVC_RETURN_IF_ERROR(CheckCount(arguments, videos));
    GpuStream gpu;
    if (on_gpu_) {
      NVC_ASSIGN_OR_RETURN(gpu, GpuStreamOf(context));
      arguments.gpu = &gpu;
    }
    arguments.cancelled = StepCancelled(context, /*timeout=*/0);

    std::vector<absl::string_view> bytes;
    for (int64_t i = 0; i < videos; ++i) bytes.emplace_back(contents.vec<tstring>()(i));
    Tensor frames;
    const auto allocate = [&](const FrameShape& shape) {
      return Allocate(context, arguments, shape, videos, &frames);
    };
    const ClipSpec& clips = arguments.clips;
    const TensorShape by_frame({videos, clips.clips_per_video, clips.length});
    Tensor* pts = nullptr;
    Tensor* mask = nullptr;
    NVC_RETURN_IF_ERROR(context->allocate_output(1, by_frame, &pts));
    NVC_RETURN_IF_ERROR(context->allocate_output(2, by_frame, &mask));
    pts->flat<double>().setZero();
    mask->flat<bool>().setConstant(false);
    ClipBatch batch(arguments, std::move(bytes), allocate, mask->flat<bool>().data(),
                    pts->flat<double>().data());
    NVC_RETURN_IF_ERROR(batch.Run());
    if (!batch.allocated()) {  // nothing could be decoded that has a shape
      const FrameShape none{0, 0, Channels(arguments.decode.output.pixel_format), 0};
      NVC_RETURN_IF_ERROR(Allocate(context, arguments, none, videos, &frames).status());
    }
    context->set_output(0, frames);
    Tensor* status = nullptr;
    NVC_RETURN_IF_ERROR(context->allocate_output(3, TensorShape({videos}), &status));
    for (int64_t i = 0; i < videos; ++i) {
      status->vec<tstring>()(i) = Utf8Text(batch.statuses()[static_cast<size_t>(i)].message());
    }
    return absl::OkStatus();
  }

  static absl::Status ReadInputs(OpKernelContext* context, ClipBatchArguments* arguments) {
    const Tensor& contents = context->input(0);
    if (contents.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("contents must be a vector of strings, a video each; got shape ",
                       contents.shape().DebugString()));
    }
    int64_t seed = 0;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 1, "period", &arguments->clips.period));
    NVC_RETURN_IF_ERROR(ReadScalar(context, 2, "seed", &seed));
    arguments->seed = static_cast<uint64_t>(seed);
    OutputSpec& output = arguments->decode.output;
    NVC_RETURN_IF_ERROR(ReadGeometry(context, 3, 4, &output));
    if (arguments->center_crop > 0 && (output.height == 0 || output.crop.has_value())) {
      return absl::InvalidArgumentError(
          "center_crop cuts the frame to the shape of size: pass size, and no crop");
    }
    NVC_RETURN_IF_ERROR(output.Validate());
    return arguments->clips.Validate();
  }

  static absl::Status CheckCount(const ClipBatchArguments& arguments, int64_t videos) {
    const double count = static_cast<double>(std::max<int64_t>(videos, 1)) *
                         static_cast<double>(arguments.clips.clips_per_video) *
                         static_cast<double>(arguments.clips.length);
    // This many frames of the largest size still have a number of bytes.
    constexpr int64_t kMost = 100'000'000;
    const int64_t limit = arguments.decode.max_frames;
    const int64_t most = limit > 0 ? std::min(limit, kMost) : kMost;
    if (count <= static_cast<double>(most)) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the call decodes ", count, " frames, but max_frames is ", most,
                     "; pass fewer videos, fewer or shorter clips, or raise max_frames"));
  }

  // Makes memory for the frames of all videos.
  static absl::StatusOr<void*> Allocate(OpKernelContext* context,
                                        const ClipBatchArguments& arguments,
                                        const FrameShape& shape, int64_t videos, Tensor* frames) {
    const int64_t clips = arguments.clips.clips_per_video, length = arguments.clips.length;
    const DecodeAttributes& decode = arguments.decode;
    NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, videos * clips * length, decode.max_bytes));
    TensorShape batch = BatchShape(decode.output, shape, length);
    batch.InsertDim(0, clips);
    batch.InsertDim(0, videos);
    NVC_RETURN_IF_ERROR(context->allocate_temp(decode.dtype, batch, frames));
    return frames->data();
  }

  const bool on_gpu_;
  ClipBatchArguments arguments_;
};

REGISTER_KERNEL_BUILDER(Name("VideoDecodeClips").Device(::tensorflow::DEVICE_CPU), DecodeClipsOp);
// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoDecodeClips")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("contents")
                            .HostMemory("period")
                            .HostMemory("seed")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("pts")
                            .HostMemory("mask")
                            .HostMemory("status"),
                        DecodeClipsOp);

}  // namespace
}  // namespace nvc
