#include "tf_nvcodec/nv/gpu_device.h"

#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

// For the life of the process: threads of TensorFlow's may still use devices while it ends.
struct Devices {
  std::mutex mutex;
  std::map<int, GpuDevice*> by_ordinal;
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
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(
        count == 0 ? "libcuda.so.1 sees no GPU (is CUDA_VISIBLE_DEVICES empty?)"
                   : absl::StrCat("there is no GPU ", ordinal, ": libcuda.so.1 sees ", count));
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
  // A device's handle need not be its ordinal.
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

ScopedContext::ScopedContext(const GpuDevice& device)
    : device_(device),
      status_(device.Check(device.cuda().cuCtxPushCurrent(device.context()), "cuCtxPushCurrent")) {}

ScopedContext::~ScopedContext() {
  CUcontext popped = nullptr;
  if (status_.ok()) device_.cuda().cuCtxPopCurrent(&popped);
}

}  // namespace nvc
