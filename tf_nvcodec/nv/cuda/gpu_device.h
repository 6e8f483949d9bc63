// A GPU with its CUDA context and driver tables, and the scope that makes the context current.
#ifndef TF_NVCODEC_NV_CUDA_GPU_DEVICE_H_
#define TF_NVCODEC_NV_CUDA_GPU_DEVICE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/nv/cuda/driver.h"

namespace nvc {

// Returns the number of blocks of threads for `size` threads.
inline unsigned Blocks(int size, unsigned block) {
  return (static_cast<unsigned>(size) + block - 1) / block;
}

// Returns false only if the kernel says that `address` is not readable. The driver dereferences
// handles unchecked, so code checks a handle from outside with this first. A readable address may
// still not be what the caller meant.
bool IsReadable(const void* address);

// There is one object for each ordinal and one for each context of a caller. Objects are made on
// first use and never destroyed, so pointers to them stay valid.
class GpuDevice {
 public:
  // Returns the GPU with that ordinal. CUDA counts GPUs after CUDA_VISIBLE_DEVICES. Returns
  // FailedPrecondition without a driver or without such a GPU.
  static absl::StatusOr<GpuDevice*> Get(int ordinal);
  static absl::StatusOr<int> Count();
  // Returns the GPU for work that names no device.
  static absl::StatusOr<GpuDevice*> GetFirst() { return Get(0); }
  // Returns the GPU of the context that is current on this thread.
  static absl::StatusOr<GpuDevice*> Current();
  // Makes a new object at each call, with the given tables instead of the driver's. For tests. The
  // tables must outlive the process.
  static absl::StatusOr<GpuDevice*> Make(const CudaDriver* cuda,
                                         absl::StatusOr<const CuvidDriver*> cuvid, int ordinal);

  // Returns this GPU in a context of the caller, or this object for its own context. The caller may
  // destroy the context at any time, so nothing made in it may be kept for later. Once it is
  // destroyed, it can't be entered any more, even if the driver gives its address to a new context.
  // Returns InvalidArgument if `context` is not a context of this GPU, as far as the driver can
  // tell, and FailedPrecondition if the driver can't tell.
  absl::StatusOr<GpuDevice*> InContext(CUcontext context);

  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  const CudaDriver& cuda() const { return cuda_; }
  // FailedPrecondition if the driver came without its video libraries.
  const absl::StatusOr<const CuvidDriver*>& cuvid() const { return cuvid_; }
  CUcontext context() const { return context_; }
  bool is_of_caller() const { return is_of_caller_; }  // whether a caller owns the context
  // Makes the context current on this thread. Returns FailedPrecondition if it has been destroyed.
  absl::Status PushContext() const;
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  int compute_capability() const { return compute_capability_; }  // 90 means 9.0
  size_t total_memory() const { return total_memory_; }           // in bytes

  // Turns `result` into a status as CudaDriver::Check does, and adds the GPU's name.
  absl::Status Check(CUresult result, absl::string_view doing) const;

 private:
  GpuDevice(const CudaDriver* cuda, absl::StatusOr<const CuvidDriver*> cuvid, int ordinal)
      : cuda_(*cuda), cuvid_(std::move(cuvid)), ordinal_(ordinal) {}
  absl::Status Initialize();
  absl::Status CheckContext() const;

  const CudaDriver& cuda_;
  const absl::StatusOr<const CuvidDriver*> cuvid_;
  const int ordinal_;
  std::string name_;
  int compute_capability_ = 0;
  size_t total_memory_ = 0;
  CUcontext context_ = nullptr;
  bool is_of_caller_ = false;
  unsigned long long context_id_ = 0;  // of a caller's context; CUDA never uses an id twice
};

// Makes the device's context current on this thread while the object lives. If status() is an
// error, the context has been destroyed with all that was made in it; leave those objects alone.
class ScopedContext {
 public:
  explicit ScopedContext(const GpuDevice& device);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  const GpuDevice& device_;
  const absl::Status status_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_GPU_DEVICE_H_
