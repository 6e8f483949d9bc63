#include "tf_nvcodec/kernels/decode/clip_batch_op.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"
#include "tf_nvcodec/kernels/tensors/batch_shape.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

absl::Status CheckCount(const ClipBatchArguments& arguments, int64_t rows) {
  const double count = static_cast<double>(std::max<int64_t>(rows, 1)) *
                       static_cast<double>(arguments.clips.clips_per_video) *
                       static_cast<double>(arguments.clips.length);
  // This many frames of the largest size still have a number of bytes.
  constexpr int64_t kMost = 100'000'000;
  const int64_t limit = arguments.decode.max_frames;
  const int64_t most = limit > 0 ? std::min(limit, kMost) : kMost;
  if (count <= static_cast<double>(most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the call decodes ", count, " frames, but max_frames is ", most,
                   "; pass a smaller batch, fewer or shorter clips, or raise max_frames"));
}

// The dimensions before those of a clip's frames. A packed clip has no siblings.
TensorShape LeadingShape(const ClipBatchArguments& arguments, int64_t rows) {
  TensorShape shape({rows});
  if (!arguments.packed) shape.AddDim(arguments.clips.clips_per_video);
  return shape;
}

// Makes memory for the frames of all rows.
absl::StatusOr<void*> Allocate(OpKernelContext* context, const ClipBatchArguments& arguments,
                               const FrameShape& shape, int64_t rows, Tensor* frames) {
  const int64_t clips = arguments.clips.clips_per_video, length = arguments.clips.length;
  const DecodeAttributes& decode = arguments.decode;
  NVC_RETURN_IF_ERROR(CheckBatchBytes(shape, rows * clips * length, decode.max_bytes));
  TensorShape batch = LeadingShape(arguments, rows);
  batch.AppendShape(BatchShape(decode.output, shape, length));
  NVC_RETURN_IF_ERROR(context->allocate_temp(decode.dtype, batch, frames));
  return frames->data();
}

}  // namespace

ClipBatchOp::ClipBatchOp(OpKernelConstruction* context)
    : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {
  OP_REQUIRES_OK(context, arguments_.decode.Read(context));
}

void ClipBatchOp::Compute(OpKernelContext* context) { OP_REQUIRES_OK(context, Decode(context)); }

absl::Status ClipBatchOp::Decode(OpKernelContext* context) const {
  ClipBatchArguments arguments = arguments_;
  NVC_RETURN_IF_ERROR(ReadInputs(context, &arguments));
  const Tensor& contents = context->input(0);
  const int64_t rows = contents.dim_size(0);
  NVC_RETURN_IF_ERROR(CheckCount(arguments, rows));
  GpuStream gpu;
  if (on_gpu_) {
    NVC_ASSIGN_OR_RETURN(gpu, GpuStreamOf(context));
    arguments.gpu = &gpu;
  }
  arguments.cancelled = StepCancelled(context, /*timeout=*/0);

  std::vector<absl::string_view> bytes;
  for (int64_t i = 0; i < rows; ++i) bytes.emplace_back(contents.vec<tstring>()(i));
  Tensor frames;
  const auto allocate = [&](const FrameShape& shape) {
    return Allocate(context, arguments, shape, rows, &frames);
  };
  TensorShape by_frame = LeadingShape(arguments, rows);
  by_frame.AddDim(arguments.clips.length);
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
    NVC_RETURN_IF_ERROR(Allocate(context, arguments, none, rows, &frames).status());
  }
  context->set_output(0, frames);
  Tensor* status = nullptr;
  NVC_RETURN_IF_ERROR(context->allocate_output(3, TensorShape({rows}), &status));
  for (int64_t i = 0; i < rows; ++i) {
    status->vec<tstring>()(i) = Utf8Text(batch.statuses()[static_cast<size_t>(i)].message());
  }
  return absl::OkStatus();
}

}  // namespace nvc
