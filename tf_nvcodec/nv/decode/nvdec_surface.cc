#include "tf_nvcodec/nv/decode/nvdec_surface.h"

#include <utility>

#include "tf_nvcodec/core/base/status.h"

namespace nvc {

absl::StatusOr<std::unique_ptr<NvdecSurface>> NvdecSurface::Create(GpuDevice* device) {
  NVC_ASSIGN_OR_RETURN(CudaEvent ready, CudaEvent::Create(device));
  return std::unique_ptr<NvdecSurface>(new NvdecSurface(std::move(ready)));
}

absl::Status NvdecSurface::UsedOn(CUstream stream) {
  GpuDevice* const device = ready_.device();
  std::lock_guard<std::mutex> lock(mutex_);
  if (num_readers_ == readers_.size()) {
    absl::StatusOr<CudaEvent> event = CudaEvent::Create(device);
    if (!event.ok()) {
      // Without an event nobody could wait for the reader later.
      const ScopedContext current(*device);
      NVC_RETURN_IF_ERROR(current.status());
      return device->Check(device->cuda().cuStreamSynchronize(stream), "cuStreamSynchronize");
    }
    readers_.push_back(std::move(event).value());
  }
  NVC_RETURN_IF_ERROR(readers_[num_readers_].Record(stream));
  ++num_readers_;
  return absl::OkStatus();
}

absl::Status NvdecSurface::WaitForReaders() {
  std::lock_guard<std::mutex> lock(mutex_);
  while (num_readers_ > 0) {
    NVC_RETURN_IF_ERROR(readers_[num_readers_ - 1].Synchronize());
    --num_readers_;
  }
  return absl::OkStatus();
}

}  // namespace nvc
