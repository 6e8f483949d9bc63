#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/decode/decode_setup.h"
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

class DecodeOp : public OpKernel {
 public:
  DecodeOp(OpKernelConstruction* context, int size_input)
      : OpKernel(context),
        size_(size_input),
        on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {
    OP_REQUIRES_OK(context, attributes_.Read(context));
  }

  // Decoding takes long. By default TensorFlow assumes that GPU kernels are short and runs them one
  // after another in one thread.
  bool IsExpensive() final { return true; }

  void Compute(OpKernelContext* context) final { OP_REQUIRES_OK(context, Decode(context)); }

 protected:
  // Puts the display indices that the inputs select into `frames`.
  virtual absl::Status Select(OpKernelContext* context, const FrameIndex& index,
                              std::vector<int64_t>* frames) = 0;

 private:
  absl::Status Decode(OpKernelContext* context) {
    absl::string_view contents;
    TF_RETURN_IF_ERROR(GetContents(context, &contents));
    OutputSpec output = attributes_.output;
    TF_RETURN_IF_ERROR(ReadGeometry(context, size_, size_ + 1, &output));
    TF_RETURN_IF_ERROR(output.Validate());

    const MemorySource source(contents);
    const Cancelled cancelled = StepCancelled(context, attributes_.timeout);
    auto index = FrameIndex::Build(source, attributes_.index_limits(), cancelled);
    TF_RETURN_IF_ERROR(index.status());
    std::vector<int64_t> frames;
    TF_RETURN_IF_ERROR(Select(context, *index, &frames));
    const auto count = static_cast<int64_t>(frames.size());
    if (attributes_.max_frames > 0 && count > attributes_.max_frames) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the call decodes ", count, " frames, but max_frames is ",
                       attributes_.max_frames, "; decode the video in ranges or raise max_frames"));
    }

    GpuStream gpu;
    if (on_gpu_) {
      NVC_ASSIGN_OR_RETURN(gpu, GpuStreamOf(context));
    }
    NVC_ASSIGN_OR_RETURN(
        const DecodeSetup setup,
        SetUpDecoding(attributes_, on_gpu_ ? &gpu : nullptr, index->stream(), cancelled));
    const auto target = setup.new_target();
    Tensor batch;
    FrameCollector collected(
        output, index->stream().orientation, frames,
        [&](const FrameShape& shape, int64_t n) {
          return Allocate(context, output, shape, n, &batch);
        },
        target.get());
    DamagedFrames damaged;
    TF_RETURN_IF_ERROR(ReadFrames(*index, source, frames, setup.options, &collected, &damaged));
    // An empty batch still has a frame's shape, which only a decoded frame tells. So this decodes
    // the first frame that it can.
    DamagedFrames others;
    const bool may_be_empty = frames.empty() || attributes_.on_error == OnError::kSkip;
    for (int64_t i = 0; may_be_empty && !collected.has_shape() && i < index->num_frames(); ++i) {
      TF_RETURN_IF_ERROR(ReadFrames(*index, source, {i}, setup.options, &collected, &others));
    }
    std::vector<size_t> slots;
    auto valid = collected.Finish(*index, damaged, attributes_.on_error, &slots);
    TF_RETURN_IF_ERROR(valid.status());
    return Emit(context, *index, frames, batch, slots, *valid);
  }

  absl::StatusOr<void*> Allocate(OpKernelContext* context, const OutputSpec& output,
                                 const FrameShape& shape, int64_t count, Tensor* batch) const {
    TF_RETURN_IF_ERROR(CheckBatchBytes(shape, count, attributes_.max_bytes));
    absl::Status allocated =
        context->allocate_temp(attributes_.dtype, BatchShape(output, shape, count), batch);
    if (!allocated.ok()) return allocated;
    return batch->data();
  }

  static absl::Status Emit(OpKernelContext* context, const FrameIndex& index,
                           const std::vector<int64_t>& frames, const Tensor& batch,
                           const std::vector<size_t>& slots, const std::vector<bool>& valid) {
    const auto count = static_cast<int64_t>(slots.size());
    context->set_output(0, count == batch.dim_size(0) ? batch : batch.Slice(0, count));
    Tensor* pts = nullptr;
    Tensor* valid_out = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(1, TensorShape({count}), &pts));
    TF_RETURN_IF_ERROR(context->allocate_output(2, TensorShape({count}), &valid_out));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t frame = frames[slots[static_cast<size_t>(i)]];
      pts->vec<double>()(i) = index.frames()[static_cast<size_t>(frame)].pts;
      valid_out->vec<bool>()(i) = valid[static_cast<size_t>(i)];
    }
    return absl::OkStatus();
  }

  const int size_;  // number of the input "size"; "crop" is the next one
  const bool on_gpu_;
  DecodeAttributes attributes_;
};

class DecodeRangeOp : public DecodeOp {
 public:
  explicit DecodeRangeOp(OpKernelConstruction* context) : DecodeOp(context, 4) {}

 protected:
  absl::Status Select(OpKernelContext* context, const FrameIndex& index,
                      std::vector<int64_t>* frames) override {
    int64_t range[3];
    constexpr const char* kNames[] = {"start", "stop", "stride"};
    for (int i = 0; i < 3; ++i) {
      TF_RETURN_IF_ERROR(ReadScalar(context, 1 + i, kNames[i], &range[i]));
    }
    NVC_ASSIGN_OR_RETURN(*frames, FramesInSlice(range[0], range[1], range[2], index.num_frames()));
    return absl::OkStatus();
  }
};

class DecodeFramesAtOp : public DecodeOp {
 public:
  explicit DecodeFramesAtOp(OpKernelConstruction* context) : DecodeOp(context, 2) {}

 protected:
  absl::Status Select(OpKernelContext* context, const FrameIndex& index,
                      std::vector<int64_t>* frames) override {
    const Tensor& positions = context->input(1);
    if (positions.dims() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices and timestamps must be vectors, got shape ", positions.shape().DebugString()));
    }
    for (int64_t i = 0; i < positions.dim_size(0); ++i) {
      const auto frame = FrameOf(index, positions, i);
      if (!frame.ok()) {
        return absl::Status(frame.status().code(),
                            absl::StrCat(frame.status().message(), " (position ", i, ")"));
      }
      frames->push_back(*frame);
    }
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<int64_t> FrameOf(const FrameIndex& index, const Tensor& positions,
                                         int64_t i) {
    switch (positions.dtype()) {
      case ::tensorflow::DT_DOUBLE:
        return index.FrameAt(positions.vec<double>()(i));
      case ::tensorflow::DT_FLOAT: {
        const float seconds = positions.vec<float>()(i);
        return index.FrameAt(seconds, Float32Tolerance(seconds));
      }
      default:
        return FrameNumber(index, positions.vec<int64_t>()(i));
    }
  }

  static absl::StatusOr<int64_t> FrameNumber(const FrameIndex& index, int64_t number) {
    const int64_t count = index.num_frames();
    if (number < -count || number >= count) {
      // Not OutOfRange, which tf.data takes for the end of the dataset.
      return absl::InvalidArgumentError(
          absl::StrCat("frame index ", number, " is out of range for ", count,
                       " frames; valid indices are -", count, " to ", count - 1));
    }
    return number < 0 ? number + count : number;
  }
};

REGISTER_KERNEL_BUILDER(Name("VideoDecode").Device(::tensorflow::DEVICE_CPU), DecodeRangeOp);
REGISTER_KERNEL_BUILDER(Name("VideoDecodeFramesAt").Device(::tensorflow::DEVICE_CPU),
                        DecodeFramesAtOp);

// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoDecode")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("contents")
                            .HostMemory("start")
                            .HostMemory("stop")
                            .HostMemory("stride")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("pts")
                            .HostMemory("valid"),
                        DecodeRangeOp);
REGISTER_KERNEL_BUILDER(Name("VideoDecodeFramesAt")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("contents")
                            .HostMemory("positions")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("pts")
                            .HostMemory("valid"),
                        DecodeFramesAtOp);

}  // namespace
}  // namespace nvc
