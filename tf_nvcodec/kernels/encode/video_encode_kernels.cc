#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encoder.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/mux/video_writer.h"
#include "tf_nvcodec/kernels/decode/fallback_log.h"
#include "tf_nvcodec/kernels/encode/encode_attributes.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"
#include "tf_nvcodec/nv/encode/encode_backend.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

// A string tensor's element that the muxer writes into.
class TstringBytes : public GrowingBytes {
 public:
  explicit TstringBytes(tstring* bytes) : bytes_(bytes) {}
  char* Resize(size_t size) override {
    bytes_->resize_uninitialized(size);
    return bytes_->mdata();
  }

 private:
  tstring* bytes_;
};

void EncodesOnTheCpu(const std::string& why) {
  LogFallback("encodes on the CPU, not with NVENC", why);
}

class EncodeOp : public OpKernel {
 public:
  explicit EncodeOp(OpKernelConstruction* context)
      : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {
    OP_REQUIRES_OK(context, attributes_.Read(context));
  }

  // Encoding takes long. By default TensorFlow assumes that GPU kernels are short and runs them one
  // after another in one thread.
  bool IsExpensive() final { return true; }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Encode(context)); }

 private:
  absl::Status Encode(OpKernelContext* context) const {
    NVC_ASSIGN_OR_RETURN(const FrameBatch frames, BatchOf(context));
    NVC_ASSIGN_OR_RETURN(const FrameTiming timing, ReadTiming(context, frames.count));
    Tensor* contents = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &contents));
    TstringBytes bytes(&contents->scalar<tstring>()());
    Tensor copy;  // of frames in GPU memory that the CPU encodes
    NVC_ASSIGN_OR_RETURN(const EncodeEngines engines, Engines(context, &copy));
    return EncodeWith(engines, attributes_.backend, frames, timing, attributes_.options,
                      StepCancelled(context, /*timeout=*/0), &bytes, EncodesOnTheCpu);
  }

  // Returns the engines that may encode. They use the memory of `copy`, which must outlive them.
  absl::StatusOr<EncodeEngines> Engines(OpKernelContext* context, Tensor* copy) const {
    if (!on_gpu_) return EncodeEngines();
    NVC_ASSIGN_OR_RETURN(const GpuStream gpu, GpuStreamOf(context));
    return EnginesOnGpu(gpu.device, gpu.stream, [=](size_t bytes) -> absl::StatusOr<void*> {
      ::tensorflow::AllocatorAttributes on_host;
      on_host.set_on_host(true);
      TF_RETURN_IF_ERROR(context->allocate_temp(
          ::tensorflow::DT_UINT8, TensorShape({static_cast<int64_t>(bytes)}), copy, on_host));
      return copy->data();
    });
  }

  absl::StatusOr<FrameBatch> BatchOf(OpKernelContext* context) const {
    const Tensor& frames = context->input(0);
    const Tensor& size = context->input(3);
    const int channels = Channels(attributes_.input_format);
    const bool shaped =
        channels == 0 ? frames.dims() == 2 : frames.dims() == 4 && frames.dim_size(3) == channels;
    if (!shaped) {
      return absl::InvalidArgumentError(absl::StrCat(
          "frames of input_format ", Name(attributes_.input_format), " must have shape ",
          channels == 0 ? "[T, frame_bytes]" : absl::StrCat("[T, H, W, ", channels, "]"), "; got ",
          frames.shape().DebugString()));
    }
    if (size.dims() != 1 || size.dim_size(0) != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("size must be (height, width); got shape ", size.shape().DebugString()));
    }
    FrameBatch batch;
    batch.data = frames.tensor_data().data();
    batch.count = frames.dim_size(0);
    batch.pixel_format = attributes_.input_format;
    batch.sample_type = attributes_.sample_type;
    batch.height = size.vec<int32_t>()(0);
    batch.width = size.vec<int32_t>()(1);
    if (channels != 0) {
      const int64_t height = frames.dim_size(1), width = frames.dim_size(2);
      const bool given = batch.height != 0 || batch.width != 0;
      if (given && (batch.height != height || batch.width != width)) {
        return absl::InvalidArgumentError(
            absl::StrCat("size is only for packed frames; got size (", batch.height, ", ",
                         batch.width, ") with frames of shape ", frames.shape().DebugString()));
      }
      if (height > INT32_MAX || width > INT32_MAX) {
        return absl::InvalidArgumentError(
            absl::StrCat("frames are too large: ", frames.shape().DebugString()));
      }
      batch.height = static_cast<int>(height);
      batch.width = static_cast<int>(width);
    }
    if (channels == 0 && (batch.height <= 0 || batch.width <= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("frames of input_format ", Name(attributes_.input_format),
                       " are packed and need size=(height, width), both positive; got (",
                       batch.height, ", ", batch.width, ")"));
    }
    batch.frame_bytes =
        batch.count > 0 ? frames.tensor_data().size() / static_cast<size_t>(batch.count) : 0;
    NVC_RETURN_IF_ERROR(batch.Validate());
    return batch;
  }

  absl::StatusOr<FrameTiming> ReadTiming(OpKernelContext* context, int64_t count) const {
    const Tensor& fps = context->input(1);
    const Tensor& pts = context->input(2);
    if (fps.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("fps must be a scalar; got shape ", fps.shape().DebugString()));
    }
    const double rate = fps.scalar<double>()();
    if (pts.dims() == 1 && pts.dim_size(0) == 0) return FrameTiming::FromFps(rate);
    if (pts.dims() != 1 || pts.dim_size(0) != count) {
      return absl::InvalidArgumentError(absl::StrCat("pts must have one time a frame; got shape ",
                                                     pts.shape().DebugString(), " for ", count,
                                                     " frames"));
    }
    const auto times = pts.vec<double>();
    return FrameTiming::FromSeconds(absl::MakeConstSpan(times.data(), times.size()), rate,
                                    attributes_.options.container);
  }

  const bool on_gpu_;
  EncodeAttributes attributes_;
};

// Runs while the library loads, before the threads of the first step start.
[[maybe_unused]] const bool quiet = [] {
  QuietEncoderLibraries();
  return true;
}();

REGISTER_KERNEL_BUILDER(Name("VideoEncode").Device(::tensorflow::DEVICE_CPU), EncodeOp);
REGISTER_KERNEL_BUILDER(Name("VideoEncodeOnDevice").Device(::tensorflow::DEVICE_CPU), EncodeOp);

// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoEncodeOnDevice")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("fps")
                            .HostMemory("pts")
                            .HostMemory("size")
                            .HostMemory("contents"),
                        EncodeOp);

}  // namespace
}  // namespace nvc
