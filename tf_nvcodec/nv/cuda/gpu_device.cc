#include "tf_nvcodec/nv/cuda/gpu_device.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

bool IsReadable(const void* address) {
  uint64_t word = 0;
  const iovec to = {&word, sizeof(word)};
  const iovec from = {const_cast<void*>(address), sizeof(word)};
  // Containers may forbid this call; such an error says nothing about the address.
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) >= 0 || errno != EFAULT;
}

namespace {

// Never destroyed: TensorFlow's threads may still use devices while the process ends.
struct Devices {
  std::mutex mutex;
  std::map<int, GpuDevice*> by_ordinal;
  std::map<std::pair<const GpuDevice*, unsigned long long>, GpuDevice*> of_callers;  // by id
};

Devices& AllDevices() {
  static auto* const devices = new Devices;
  return *devices;
}

}  // namespace

absl::StatusOr<int> GpuDevice::Count() {
  NVC_ASSIGN_OR_RETURN(const CudaDriver* cuda, GetCudaDriver());
  int count = 0;
  NVC_RETURN_IF_ERROR(cuda->Check(cuda->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<GpuDevice*> GpuDevice::Get(int ordinal) {
  NVC_ASSIGN_OR_RETURN(const CudaDriver* cuda, GetCudaDriver());
  NVC_ASSIGN_OR_RETURN(const int count, Count());
  if (count == 0) return NoGpu();
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no GPU ", ordinal, ": libcuda.so.1 sees ", count));
  }
  Devices& devices = AllDevices();
  std::lock_guard<std::mutex> lock(devices.mutex);
  GpuDevice*& device = devices.by_ordinal[ordinal];
  if (device == nullptr) {
    NVC_ASSIGN_OR_RETURN(device, Make(cuda, GetCuvidDriver(), ordinal));
  }
  return device;
}

absl::StatusOr<GpuDevice*> GpuDevice::Current() {
  NVC_ASSIGN_OR_RETURN(const CudaDriver* cuda, GetCudaDriver());
  CUdevice device = 0;
  NVC_RETURN_IF_ERROR(cuda->Check(cuda->cuCtxGetDevice(&device), "cuCtxGetDevice"));
  // A device's handle may differ from its ordinal.
  NVC_ASSIGN_OR_RETURN(const int count, Count());
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice candidate = 0;
    NVC_RETURN_IF_ERROR(cuda->Check(cuda->cuDeviceGet(&candidate, ordinal), "cuDeviceGet"));
    if (candidate == device) return Get(ordinal);
  }
  return absl::InternalError(absl::StrCat("the current CUDA device, ", device, ", has no ordinal"));
}

absl::StatusOr<GpuDevice*> GpuDevice::Make(const CudaDriver* cuda,
                                           absl::StatusOr<const CuvidDriver*> cuvid, int ordinal) {
  std::unique_ptr<GpuDevice> device(new GpuDevice(cuda, std::move(cuvid), ordinal));
  NVC_RETURN_IF_ERROR(device->Initialize());
  return device.release();
}

absl::Status GpuDevice::Initialize() {
  CUdevice device = 0;
  NVC_RETURN_IF_ERROR(cuda_.Check(cuda_.cuDeviceGet(&device, ordinal_), "cuDeviceGet"));
  char name[256] = {};
  NVC_RETURN_IF_ERROR(
      cuda_.Check(cuda_.cuDeviceGetName(name, sizeof(name), device), "cuDeviceGetName"));
  name_ = name;
  int major = 0, minor = 0;
  NVC_RETURN_IF_ERROR(Check(
      cuda_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
      "cuDeviceGetAttribute"));
  NVC_RETURN_IF_ERROR(Check(
      cuda_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
      "cuDeviceGetAttribute"));
  compute_capability_ = 10 * major + minor;
  NVC_RETURN_IF_ERROR(
      Check(cuda_.cuDevicePrimaryCtxRetain(&context_, device), "creating a CUDA context"));
  const ScopedContext current(*this);
  NVC_RETURN_IF_ERROR(current.status());
  size_t free = 0;
  return Check(cuda_.cuMemGetInfo(&free, &total_memory_), "cuMemGetInfo");
}

absl::Status GpuDevice::Check(CUresult result, absl::string_view doing) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return cuda_.Check(result, absl::StrCat(doing, " on ", name_));
}

absl::StatusOr<GpuDevice*> GpuDevice::InContext(CUcontext context) {
  if (context == context_) return this;
  const std::string given = absl::StrCat("0x", absl::Hex(reinterpret_cast<uintptr_t>(context)));
  if (cuda_.cuCtxGetId == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the driver of ", name_, " can't tell whether the CUDA context ", given,
                     " exists: update it to 525 or later, or use the GPU's primary context"));
  }
  unsigned long long id = 0;
  const CUresult asked = IsReadable(context) ? cuda_.cuCtxGetId(context, &id)
                                             : static_cast<CUresult>(kCudaInvalidContext);
  if (asked != CUDA_SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " is no CUDA context, or one that was destroyed (",
                     Check(asked, "cuCtxGetId").message(), "): pass a living one, or 0"));
  }
  Devices& devices = AllDevices();
  std::lock_guard<std::mutex> lock(devices.mutex);
  GpuDevice*& device = devices.of_callers[{this, id}];
  if (device != nullptr) return device;
  std::unique_ptr<GpuDevice> made(new GpuDevice(&cuda_, cuvid_, ordinal_));
  made->name_ = name_;
  made->compute_capability_ = compute_capability_;
  made->total_memory_ = total_memory_;
  made->context_ = context;
  made->is_of_caller_ = true;
  made->context_id_ = id;
  NVC_RETURN_IF_ERROR(made->CheckContext());
  device = made.release();
  return device;
}

absl::Status GpuDevice::CheckContext() const {
  const ScopedContext current(*this);
  NVC_RETURN_IF_ERROR(current.status());
  CUdevice own = 0, of_context = 0;
  NVC_RETURN_IF_ERROR(Check(cuda_.cuDeviceGet(&own, ordinal_), "cuDeviceGet"));
  NVC_RETURN_IF_ERROR(Check(cuda_.cuCtxGetDevice(&of_context), "cuCtxGetDevice"));
  if (own == of_context) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the CUDA context is of another GPU than GPU ", ordinal_, ", ", name_));
}

absl::Status GpuDevice::PushContext() const {
  if (is_of_caller_) {
    unsigned long long id = 0;
    const bool lives = IsReadable(context_) && cuda_.cuCtxGetId(context_, &id) == CUDA_SUCCESS &&
                       id == context_id_;
    if (!lives) {
      return absl::FailedPreconditionError(
          "the CUDA context that was given is destroyed, and all that was made in it");
    }
  }
  return Check(cuda_.cuCtxPushCurrent(context_), "cuCtxPushCurrent");
}

ScopedContext::ScopedContext(const GpuDevice& device)
    : device_(device), status_(device.PushContext()) {}

ScopedContext::~ScopedContext() {
  CUcontext popped = nullptr;
  if (status_.ok()) device_.cuda().cuCtxPopCurrent(&popped);
}

}  // namespace nvc
