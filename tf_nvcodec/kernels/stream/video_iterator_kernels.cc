#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/stream/video_iterator.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

// The open iterators of the process, by number.
class OpenIterators {
 public:
  static OpenIterators& Shared() {
    static auto* const iterators = new OpenIterators;
    return *iterators;
  }

  int64_t Add(std::shared_ptr<VideoIterator> iterator) {
    std::lock_guard<std::mutex> lock(mutex_);
    iterators_[++latest_] = std::move(iterator);
    return latest_;
  }
  absl::StatusOr<std::shared_ptr<VideoIterator>> Find(int64_t number) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = iterators_.find(number);
    if (found == iterators_.end()) {
      return absl::CancelledError("the iterator over the video was closed");
    }
    return found->second;
  }
  void Remove(int64_t number) {
    std::shared_ptr<VideoIterator> removed;  // destroyed without the lock
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = iterators_.find(number);
    if (found == iterators_.end()) return;
    removed = std::move(found->second);
    removed->Stop();  // another thread may be waiting in Next
    iterators_.erase(found);
  }

 private:
  std::mutex mutex_;
  int64_t latest_ = 0;
  std::map<int64_t, std::shared_ptr<VideoIterator>> iterators_;
};

class VideoIteratorOp : public OpKernel {
 public:
  explicit VideoIteratorOp(OpKernelConstruction* context)
      : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {
    std::string source;
    OP_REQUIRES_OK(context, attributes_.Read(context));
    OP_REQUIRES_OK(context, context->GetAttr("source", &source));
    OP_REQUIRES_OK(context, context->GetAttr("index_cache", &cache_directory_));
    is_file_ = source == "files";
  }

  bool IsExpensive() override { return true; }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Open(context)); }

 private:
  absl::Status Open(OpKernelContext* context) const {
    VideoIterator::Arguments arguments;
    arguments.decode = attributes_;
    arguments.is_file = is_file_;
    arguments.cache_directory = cache_directory_;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 1, "start", &arguments.start));
    NVC_RETURN_IF_ERROR(ReadScalar(context, 2, "stop", &arguments.stop));
    NVC_RETURN_IF_ERROR(ReadScalar(context, 3, "stride", &arguments.stride));
    NVC_RETURN_IF_ERROR(ReadScalar(context, 4, "frames", &arguments.chunk));
    if (arguments.chunk == std::numeric_limits<int64_t>::min()) {
      arguments.chunk = 0;
    } else if (arguments.chunk < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("frames must be at least 1, got ", arguments.chunk));
    }
    NVC_RETURN_IF_ERROR(ReadGeometry(context, 5, 6, &arguments.decode.output));
    NVC_RETURN_IF_ERROR(arguments.decode.output.Validate());
    const Tensor& video = context->input(0);
    if (video.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("video must be a scalar string, got shape ", video.shape().DebugString()));
    }
    // Shares the bytes with the input.
    if (!arguments.video.CopyFrom(video, TensorShape({1}))) {
      return absl::InternalError("the video's bytes can't be shared");
    }
    if (on_gpu_) {
      NVC_ASSIGN_OR_RETURN(arguments.gpu, GpuStreamOf(context));
      arguments.gpu_allocator = context->device()->GetAllocator({});
    }
    NVC_ASSIGN_OR_RETURN(
        std::shared_ptr<VideoIterator> iterator,
        VideoIterator::Open(std::move(arguments), StepCancelled(context, attributes_.timeout)));
    const int64_t total = iterator->total();
    NVC_RETURN_IF_ERROR(
        SetScalar<int64_t>(context, 0, OpenIterators::Shared().Add(std::move(iterator))));
    return SetScalar<int64_t>(context, 1, total);
  }

  const bool on_gpu_;
  DecodeAttributes attributes_;
  std::string cache_directory_;
  bool is_file_ = true;
};

class VideoIteratorNextOp : public OpKernel {
 public:
  explicit VideoIteratorNextOp(OpKernelConstruction* context)
      : OpKernel(context), on_gpu_(context->device_type() == ::tensorflow::DEVICE_GPU) {}

  bool IsExpensive() override { return true; }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Next(context)); }

 private:
  absl::Status Next(OpKernelContext* context) const {
    int64_t number = 0;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 0, "iterator", &number));
    NVC_ASSIGN_OR_RETURN(const auto iterator, OpenIterators::Shared().Find(number));
    if (iterator->on_gpu() != on_gpu_ || iterator->dtype() != output_type(0)) {
      return absl::InvalidArgumentError(
          "VideoIteratorNext needs the device and the dtype that VideoIterator had");
    }
    NVC_ASSIGN_OR_RETURN(const VideoIterator::Chunk chunk,
                         iterator->Next(StepCancelled(context, /*timeout=*/0)));
    context->set_output(0, chunk.frames);
    const auto count = static_cast<int64_t>(chunk.pts.size());
    Tensor* pts = nullptr;
    Tensor* valid = nullptr;
    NVC_RETURN_IF_ERROR(context->allocate_output(1, TensorShape({count}), &pts));
    NVC_RETURN_IF_ERROR(context->allocate_output(2, TensorShape({count}), &valid));
    std::copy(chunk.pts.begin(), chunk.pts.end(), pts->vec<double>().data());
    std::copy(chunk.valid.begin(), chunk.valid.end(), valid->vec<bool>().data());
    return absl::OkStatus();
  }

  const bool on_gpu_;
};

class VideoIteratorCloseOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    int64_t number = 0;
    OP_REQUIRES_OK(context, ReadScalar(context, 0, "iterator", &number));
    OpenIterators::Shared().Remove(number);
  }
};

REGISTER_KERNEL_BUILDER(Name("VideoIterator").Device(::tensorflow::DEVICE_CPU), VideoIteratorOp);
REGISTER_KERNEL_BUILDER(Name("VideoIteratorNext").Device(::tensorflow::DEVICE_CPU),
                        VideoIteratorNextOp);
REGISTER_KERNEL_BUILDER(Name("VideoIteratorClose").Device(::tensorflow::DEVICE_CPU),
                        VideoIteratorCloseOp);

// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoIterator")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("video")
                            .HostMemory("start")
                            .HostMemory("stop")
                            .HostMemory("stride")
                            .HostMemory("frames")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("iterator")
                            .HostMemory("total"),
                        VideoIteratorOp);
REGISTER_KERNEL_BUILDER(Name("VideoIteratorNext")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("iterator")
                            .HostMemory("pts")
                            .HostMemory("valid"),
                        VideoIteratorNextOp);

}  // namespace
}  // namespace nvc
