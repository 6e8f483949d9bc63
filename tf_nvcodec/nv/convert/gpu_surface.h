// Pictures of NVDEC's as surfaces without a pitch, in device memory of their own.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_
#define TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/surface.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

namespace nvc {

// Device memory that was a frame's and will be another's: allocating and freeing it makes the whole
// GPU wait. Thread-safe. What it gives is for work on one stream.
class DeviceMemoryPool {
 public:
  explicit DeviceMemoryPool(GpuDevice* device) : device_(device) {}

  // Of at least `bytes`. ResourceExhausted when the GPU has not got that much.
  absl::StatusOr<DeviceMemory> Take(size_t bytes);
  // `was_shown`: others saw the address, and what they queued on their streams may still use it.
  // Then nobody gets the memory before the context has once done all that was queued in it.
  void Give(DeviceMemory memory, bool was_shown);

 private:
  static constexpr size_t kIdle = 16;
  struct Idle {
    DeviceMemory memory;
    bool may_be_used;
  };

  // Empty when there is none.
  DeviceMemory TakeIdle(size_t bytes);
  absl::Status WaitForUsers();

  GpuDevice* const device_;
  std::mutex mutex_;
  std::vector<Idle> idle_;
};

// The caller's stream, or one of our own where `handle` is 0.
class BorrowedStream {
 public:
  // InvalidArgument for what is no stream of the device's context, as far as the driver can tell.
  static absl::Status Check(GpuDevice* device, uint64_t handle);
  static absl::StatusOr<BorrowedStream> Create(GpuDevice* device, uint64_t handle);

  CUstream get() const { return borrowed_ != nullptr ? borrowed_ : own_.get(); }
  // Waits for all that is queued on it.
  absl::Status Synchronize() const;

 private:
  GpuDevice* device_ = nullptr;
  CUstream borrowed_ = nullptr;
  CudaStream own_;
};

// Queues the copy of the picture's displayed area on `stream`; the picture may be let go on return.
absl::Status CopyPicture(const GpuPicture& picture, const SurfaceLayout& layout, CUdeviceptr to,
                         CUstream stream);

// What cuvidGetDecoderCaps says.
struct NvdecCapabilities {
  bool is_supported = false;
  int num_engines = 0;
  int min_width = 0, min_height = 0, max_width = 0, max_height = 0;
  int64_t max_macroblocks = 0;
};
absl::StatusOr<NvdecCapabilities> AskNvdec(GpuDevice* device, cudaVideoCodec codec,
                                           cudaVideoChromaFormat chroma, int bit_depth);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_
