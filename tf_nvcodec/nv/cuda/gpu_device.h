// Whether an address that came from outside points to anything: the driver reads handles without
// asking.
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

// False only where the kernel says so. Other memory than what was meant may well be there.
bool IsReadable(const void* address);

// One for each ordinal, and one for each context of a caller's. Made on first use and never
// destroyed: pointers to it stay valid.
class GpuDevice {
 public:
  // FailedPrecondition without a driver or a GPU of that ordinal, as CUDA counts them (after
  // CUDA_VISIBLE_DEVICES).
  static absl::StatusOr<GpuDevice*> Get(int ordinal);
  static absl::StatusOr<int> Count();
  // For work that no device was named for.
  static absl::StatusOr<GpuDevice*> GetFirst() { return Get(0); }
  // Of the context that is current on this thread.
  static absl::StatusOr<GpuDevice*> Current();
  // With other tables than the driver's, as in tests; another one at each call. The tables must
  // outlive the process.
  static absl::StatusOr<GpuDevice*> Make(const CudaDriver* cuda,
                                         absl::StatusOr<const CuvidDriver*> cuvid, int ordinal);

  // This GPU in a context of a caller's, who may destroy it at any time: nothing of it is to be
  // kept for later, and once it is gone it can't be entered any more, also where the driver gave
  // its address to another one. Itself for its own context. InvalidArgument for what is no context
  // of this GPU, as far as the driver can tell; FailedPrecondition where it never can.
  absl::StatusOr<GpuDevice*> InContext(CUcontext context);

  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  const CudaDriver& cuda() const { return cuda_; }
  // FailedPrecondition where the driver came without its video libraries.
  const absl::StatusOr<const CuvidDriver*>& cuvid() const { return cuvid_; }
  CUcontext context() const { return context_; }
  bool is_of_caller() const { return is_of_caller_; }  // the context
  // Makes the context current on this thread. FailedPrecondition when it was destroyed.
  absl::Status PushContext() const;
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  int compute_capability() const { return compute_capability_; }  // 90 for 9.0
  size_t total_memory() const { return total_memory_; }           // bytes

  // As CudaDriver::Check, with the GPU's name.
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
  unsigned long long context_id_ = 0;  // of a caller's; no other one will ever have it
};

// Makes the device's context current on this thread while it lives. Where it could not, what was
// made in the context must be left alone: with the context it is gone.
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
