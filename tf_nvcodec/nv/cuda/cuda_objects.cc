#include "tf_nvcodec/nv/cuda/cuda_objects.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

void DestroyCudaStream::Run(const GpuDevice& device, CUstream stream) {
  const ScopedContext current(device);
  if (current.status().ok()) device.cuda().cuStreamDestroy(stream);
}

void DestroyCudaEvent::Run(const GpuDevice& device, CUevent event) {
  const ScopedContext current(device);
  if (current.status().ok()) device.cuda().cuEventDestroy(event);
}

void FreeDeviceMemory::Run(const GpuDevice& device, CUdeviceptr memory) {
  const ScopedContext current(device);
  if (current.status().ok()) device.cuda().cuMemFree(memory);
}

void FreePinnedMemory::Run(const GpuDevice& device, void* memory) {
  const ScopedContext current(device);
  if (current.status().ok()) device.cuda().cuMemFreeHost(memory);
}

absl::StatusOr<CudaStream> CudaStream::Create(GpuDevice* device) {
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  CUstream stream = nullptr;
  NVC_RETURN_IF_ERROR(device->Check(device->cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                                    "cuStreamCreate"));
  return CudaStream(device, stream);
}

absl::Status CudaStream::Synchronize() const {
  const ScopedContext current(*device());
  NVC_RETURN_IF_ERROR(current.status());
  return device()->Check(device()->cuda().cuStreamSynchronize(get()), "cuStreamSynchronize");
}

absl::Status CudaStream::WaitFor(CUevent event) const {
  const ScopedContext current(*device());
  NVC_RETURN_IF_ERROR(current.status());
  return device()->Check(device()->cuda().cuStreamWaitEvent(get(), event, 0), "cuStreamWaitEvent");
}

absl::StatusOr<CudaEvent> CudaEvent::Create(GpuDevice* device) {
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  CUevent event = nullptr;
  NVC_RETURN_IF_ERROR(device->Check(
      device->cuda().cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING),
      "cuEventCreate"));
  return CudaEvent(device, event);
}

absl::Status CudaEvent::Record(CUstream stream) const {
  const ScopedContext current(*device());
  NVC_RETURN_IF_ERROR(current.status());
  return device()->Check(device()->cuda().cuEventRecord(get(), stream), "cuEventRecord");
}

absl::Status CudaEvent::Synchronize() const {
  const ScopedContext current(*device());
  NVC_RETURN_IF_ERROR(current.status());
  return device()->Check(device()->cuda().cuEventSynchronize(get()), "waiting for the GPU");
}

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(GpuDevice* device, size_t bytes) {
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  CUdeviceptr memory = 0;
  NVC_RETURN_IF_ERROR(device->Check(device->cuda().cuMemAlloc(&memory, bytes),
                                    absl::StrCat("allocating ", bytes, " bytes")));
  return DeviceMemory(device, memory, bytes);
}

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(GpuDevice* device, size_t bytes) {
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  void* memory = nullptr;
  NVC_RETURN_IF_ERROR(device->Check(device->cuda().cuMemHostAlloc(&memory, bytes, /*flags=*/0),
                                    absl::StrCat("pinning ", bytes, " bytes of host memory")));
  return PinnedMemory(device, memory, bytes);
}

}  // namespace nvc
