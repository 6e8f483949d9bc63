// Owns CUDA's streams, events and memory. Each object knows its device and makes the context
// current itself, so any thread can use or destroy it.
#ifndef TF_NVCODEC_NV_CUDA_CUDA_OBJECTS_H_
#define TF_NVCODEC_NV_CUDA_CUDA_OBJECTS_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Base of the owners. Movable; empty if default-constructed or moved from. `Destroy` has a static
// Run(device, handle). A handle of 0 means no object.
template <typename Handle, typename Destroy>
class CudaOwner {
 public:
  CudaOwner() = default;
  CudaOwner(GpuDevice* device, Handle handle) : device_(device), handle_(handle) {}
  CudaOwner(CudaOwner&& other)
      : device_(other.device_), handle_(std::exchange(other.handle_, Handle{})) {}
  CudaOwner& operator=(CudaOwner&& other) {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaOwner() {
    if (handle_ != Handle{}) Destroy::Run(*device_, handle_);
  }

  GpuDevice* device() const { return device_; }
  Handle get() const { return handle_; }

 private:
  GpuDevice* device_ = nullptr;
  Handle handle_{};
};

struct DestroyCudaStream {
  static void Run(const GpuDevice& device, CUstream stream);
};
struct DestroyCudaEvent {
  static void Run(const GpuDevice& device, CUevent event);
};
struct FreeDeviceMemory {
  static void Run(const GpuDevice& device, CUdeviceptr memory);
};
struct FreePinnedMemory {
  static void Run(const GpuDevice& device, void* memory);
};

class CudaStream : public CudaOwner<CUstream, DestroyCudaStream> {
 public:
  using CudaOwner::CudaOwner;
  // The stream does not wait for the context's legacy default stream, nor that one for it.
  static absl::StatusOr<CudaStream> Create(GpuDevice* device);
  absl::Status Synchronize() const;
  // Makes all later work wait for `event`.
  absl::Status WaitFor(CUevent event) const;
};

// An event without timing. A host thread that waits for it sleeps.
class CudaEvent : public CudaOwner<CUevent, DestroyCudaEvent> {
 public:
  using CudaOwner::CudaOwner;
  static absl::StatusOr<CudaEvent> Create(GpuDevice* device);
  absl::Status Record(CUstream stream) const;
  absl::Status Synchronize() const;  // returns OK at once if never recorded
};

class DeviceMemory : public CudaOwner<CUdeviceptr, FreeDeviceMemory> {
 public:
  DeviceMemory() = default;
  DeviceMemory(GpuDevice* device, CUdeviceptr memory, size_t bytes)
      : CudaOwner(device, memory), bytes_(bytes) {}
  // Returns ResourceExhausted if the GPU has not enough memory.
  static absl::StatusOr<DeviceMemory> Allocate(GpuDevice* device, size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// Page-locked host memory, which the GPU can copy to and from without the CPU.
class PinnedMemory : public CudaOwner<void*, FreePinnedMemory> {
 public:
  PinnedMemory() = default;
  PinnedMemory(GpuDevice* device, void* memory, size_t bytes)
      : CudaOwner(device, memory), bytes_(bytes) {}
  static absl::StatusOr<PinnedMemory> Allocate(GpuDevice* device, size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_CUDA_OBJECTS_H_
