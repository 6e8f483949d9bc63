// A stream with memory for one frame on its way to the host, kept for the next call: allocating
// and freeing device memory makes the whole GPU wait.
#ifndef TF_NVCODEC_NV_CONVERT_DOWNLOAD_LANE_H_
#define TF_NVCODEC_NV_CONVERT_DOWNLOAD_LANE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

class DownloadLane {
 public:
  // One that was given back, else a new one. Thread-safe, as GiveBack.
  static absl::StatusOr<std::unique_ptr<DownloadLane>> Take(GpuDevice* device);
  // Keeps it, within limits. Nothing may be queued on its stream any more.
  static void GiveBack(std::unique_ptr<DownloadLane> lane);

  // Makes memory() hold that many bytes. ResourceExhausted when the GPU has not got them.
  absl::Status Reserve(size_t bytes);

  CUstream stream() const { return stream_.get(); }
  CUdeviceptr memory() const { return memory_.get(); }

 private:
  explicit DownloadLane(CudaStream stream) : stream_(std::move(stream)) {}

  CudaStream stream_;
  DeviceMemory memory_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_DOWNLOAD_LANE_H_
