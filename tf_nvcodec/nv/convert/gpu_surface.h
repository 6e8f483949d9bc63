// Copies NVDEC's pictures to memory of their own, without a pitch, for callers of the C API.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_
#define TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/core/convert/surface.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

namespace nvc {

// Keeps device memory of finished frames for new ones, because allocating and freeing device memory
// makes the whole GPU wait. Thread-safe. The memory that Take returns is for work on one stream.
class DeviceMemoryPool {
 public:
  explicit DeviceMemoryPool(GpuDevice* device) : device_(device) {}

  // Returns at least `bytes` bytes. Returns ResourceExhausted if the GPU has not enough memory.
  absl::StatusOr<DeviceMemory> Take(size_t bytes);
  // Takes memory back. `was_shown` says that others saw the address and may have queued work that
  // uses it on their own streams. The pool hands such memory out only after the context has
  // finished all work.
  void Give(DeviceMemory memory, bool was_shown);

 private:
  static constexpr size_t kIdle = 16;
  struct Idle {
    DeviceMemory memory;
    bool may_be_used;
  };

  GpuDevice* const device_;
  Pool<Idle> idle_{SIZE_MAX, kIdle};
};

// The caller's CUDA stream, or a stream of its own if `handle` is 0.
class BorrowedStream {
 public:
  // Returns InvalidArgument if `handle` is not a stream of the device's context, as far as the
  // driver can tell.
  static absl::Status Check(GpuDevice* device, uint64_t handle);
  static absl::StatusOr<BorrowedStream> Create(GpuDevice* device, uint64_t handle);

  CUstream get() const { return borrowed_ != nullptr ? borrowed_ : own_.get(); }
  // Waits for all work queued on the stream.
  absl::Status Synchronize() const;

 private:
  GpuDevice* device_ = nullptr;
  CUstream borrowed_ = nullptr;
  CudaStream own_;
};

// Queues a copy of the picture's displayed area on `stream`. The caller may release the picture
// when this returns.
absl::Status CopyPicture(const GpuPicture& picture, const SurfaceLayout& layout, CUdeviceptr to,
                         CUstream stream);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_SURFACE_H_
