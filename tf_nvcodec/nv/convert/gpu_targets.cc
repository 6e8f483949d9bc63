#include "tf_nvcodec/nv/convert/gpu_targets.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

namespace nvc {
namespace {

constexpr size_t kMostIdle = 32;
constexpr size_t kMostIdleBytes = size_t{256} << 20;
constexpr size_t kGranularity = size_t{1} << 20;

Pool<std::unique_ptr<DownloadBuffer>>& IdleBuffers() {
  static auto* const idle = new Pool<std::unique_ptr<DownloadBuffer>>(kMostIdleBytes, kMostIdle);
  return *idle;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DownloadBuffer>> DownloadBuffer::Take(GpuDevice* device) {
  auto idle = IdleBuffers().Take(
      [device](const auto& buffer) { return buffer->stream_.device() == device; });
  if (idle.has_value()) return *std::move(idle);
  NVC_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create(device));
  return std::unique_ptr<DownloadBuffer>(new DownloadBuffer(std::move(stream)));
}

void DownloadBuffer::GiveBack(std::unique_ptr<DownloadBuffer> buffer) {
  const size_t bytes = buffer->memory_.bytes();
  IdleBuffers().Give(std::move(buffer), bytes);
}

absl::Status DownloadBuffer::Reserve(size_t bytes) {
  if (bytes <= memory_.bytes()) return absl::OkStatus();
  const size_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  memory_ = DeviceMemory();
  NVC_ASSIGN_OR_RETURN(memory_, DeviceMemory::Allocate(stream_.device(), rounded));
  return absl::OkStatus();
}

namespace {

CUdeviceptr DevicePointer(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

SourceSpec SourceOfAny(const AVFrame& picture, Orientation orientation) {
  return GpuPictureOf(picture) != nullptr ? GpuSourceSpec(picture, orientation)
                                          : SourceSpec::Of(picture, orientation);
}

absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuConverter(GpuDevice* device, CUstream stream,
                                                                const OutputSpec& output,
                                                                const AVFrame& picture,
                                                                Orientation orientation) {
  if (GpuPictureOf(picture)->device != device) {
    return absl::InternalError("a picture of one GPU was given to another");
  }
  return NewGpuFrameConverter(device, stream, output, GpuSourceSpec(picture, orientation));
}

class UploadConverter : public FrameConverter {
 public:
  UploadConverter(GpuDevice* device, CUstream stream, std::unique_ptr<FrameConverter> host)
      : FrameConverter(host->source(), host->shape()),
        device_(device),
        stream_(stream),
        host_(std::move(host)),
        frame_(host_->shape().bytes) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(host_->Convert(frame, frame_.data()));
    return CopyToDevice(device_, stream_, DevicePointer(out), frame_.data(), frame_.size());
  }

 private:
  GpuDevice* const device_;
  const CUstream stream_;
  std::unique_ptr<FrameConverter> host_;
  std::vector<uint8_t> frame_;
};

}  // namespace

SourceSpec DeviceTarget::SourceOf(const AVFrame& picture, Orientation orientation) const {
  return SourceOfAny(picture, orientation);
}

absl::StatusOr<std::unique_ptr<FrameConverter>> DeviceTarget::NewConverter(
    const OutputSpec& output, const AVFrame& picture, Orientation orientation) {
  if (GpuPictureOf(picture) != nullptr) {
    return NewGpuConverter(device_, stream_, output, picture, orientation);
  }
  NVC_ASSIGN_OR_RETURN(auto host,
                       FrameConverter::Create(output, SourceSpec::Of(picture, orientation)));
  return std::make_unique<UploadConverter>(device_, stream_, std::move(host));
}

absl::Status DeviceTarget::Copy(void* to, const void* from, size_t bytes) {
  if (to == from) return absl::OkStatus();
  return CopyOnDevice(device_, stream_, DevicePointer(to), DevicePointer(from), bytes);
}

class DownloadTarget::Converter : public FrameConverter {
 public:
  Converter(DownloadTarget* target, std::unique_ptr<DownloadBuffer> buffer,
            std::unique_ptr<FrameConverter> gpu)
      : FrameConverter(gpu->source(), gpu->shape()),
        target_(target),
        buffer_(std::move(buffer)),
        gpu_(std::move(gpu)) {}

  ~Converter() override {
    const absl::Status delivered = Deliver();
    if (!delivered.ok()) target_->Fail(delivered);
    gpu_.reset();
    if (delivered.ok()) DownloadBuffer::GiveBack(std::move(buffer_));
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    // While this waits, the GPU decodes the next pictures.
    NVC_RETURN_IF_ERROR(Deliver());
    NVC_RETURN_IF_ERROR(gpu_->Convert(frame, reinterpret_cast<void*>(buffer_->memory())));
    out_ = out;
    return absl::OkStatus();
  }

 private:
  absl::Status Deliver() {
    if (out_ == nullptr) return absl::OkStatus();
    return CopyToHost(target_->device_, buffer_->stream(), std::exchange(out_, nullptr),
                      buffer_->memory(), shape().bytes);
  }

  DownloadTarget* const target_;
  std::unique_ptr<DownloadBuffer> buffer_;
  std::unique_ptr<FrameConverter> gpu_;
  void* out_ = nullptr;  // where the frame on the GPU will go in host memory
};

SourceSpec DownloadTarget::SourceOf(const AVFrame& picture, Orientation orientation) const {
  return SourceOfAny(picture, orientation);
}

absl::StatusOr<std::unique_ptr<FrameConverter>> DownloadTarget::NewConverter(
    const OutputSpec& output, const AVFrame& picture, Orientation orientation) {
  if (GpuPictureOf(picture) == nullptr) return host_.NewConverter(output, picture, orientation);
  NVC_ASSIGN_OR_RETURN(auto buffer, DownloadBuffer::Take(device_));
  NVC_ASSIGN_OR_RETURN(auto gpu,
                       NewGpuConverter(device_, buffer->stream(), output, picture, orientation));
  NVC_RETURN_IF_ERROR(buffer->Reserve(gpu->shape().bytes));
  return std::make_unique<Converter>(this, std::move(buffer), std::move(gpu));
}

absl::Status DownloadTarget::Copy(void* to, const void* from, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  copies_.push_back({to, from, bytes});
  return absl::OkStatus();
}

absl::Status DownloadTarget::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  NVC_RETURN_IF_ERROR(status_);
  for (const Copying& copy : copies_) {
    NVC_RETURN_IF_ERROR(host_.Copy(copy.to, copy.from, copy.bytes));
  }
  copies_.clear();
  return absl::OkStatus();
}

void DownloadTarget::Fail(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
}

}  // namespace nvc
