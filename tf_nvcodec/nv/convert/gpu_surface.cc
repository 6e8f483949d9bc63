#include "tf_nvcodec/nv/convert/gpu_surface.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

absl::StatusOr<DeviceMemory> DeviceMemoryPool::Take(size_t bytes) {
  const auto fits = [bytes](const Idle& idle) {
    return !idle.may_be_used && idle.memory.bytes() >= bytes && idle.memory.bytes() / 2 <= bytes;
  };
  std::optional<Idle> found = idle_.Take(fits);
  if (!found.has_value() && idle_.size() == kIdle) {
    // The pool is full. When the context has done all its work, all memory is free to reuse.
    auto waiting = idle_.Clear();
    const ScopedContext current(*device_);
    NVC_RETURN_IF_ERROR(current.status());
    NVC_RETURN_IF_ERROR(device_->Check(device_->cuda().cuCtxSynchronize(), "cuCtxSynchronize"));
    for (auto& entry : waiting) Give(std::move(entry.object.memory), /*was_shown=*/false);
    found = idle_.Take(fits);
  }
  if (found.has_value()) return std::move(found->memory);
  return DeviceMemory::Allocate(device_, bytes);
}

void DeviceMemoryPool::Give(DeviceMemory memory, bool was_shown) {
  idle_.Give({std::move(memory), was_shown});
}

absl::Status BorrowedStream::Check(GpuDevice* device, uint64_t handle) {
  // 0 is the context's default stream; 1 and 2 are names of default streams too.
  constexpr uint64_t kLegacy = 1, kPerThread = 2;
  if (handle <= std::max(kLegacy, kPerThread)) return absl::OkStatus();
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  const auto stream = reinterpret_cast<CUstream>(handle);
  CUcontext context = nullptr;
  const CUresult asked = IsReadable(stream) ? device->cuda().cuStreamGetCtx(stream, &context)
                                            : static_cast<CUresult>(kCudaInvalidHandle);
  const std::string given = absl::StrCat("0x", absl::Hex(handle));
  if (asked != CUDA_SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(given, " is no CUDA stream, or one that was destroyed (",
                     device->Check(asked, "cuStreamGetCtx").message(), ")"));
  }
  if (context == device->context()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the CUDA stream ", given, " is of another context than the ",
                   device->is_of_caller() ? "given one" : "primary one of the GPU",
                   ": pass the one that was current when the stream was made"));
}

absl::StatusOr<BorrowedStream> BorrowedStream::Create(GpuDevice* device, uint64_t handle) {
  BorrowedStream stream;
  stream.device_ = device;
  if (handle != 0) {
    stream.borrowed_ = reinterpret_cast<CUstream>(handle);
    return stream;
  }
  NVC_ASSIGN_OR_RETURN(stream.own_, CudaStream::Create(device));
  return stream;
}

absl::Status BorrowedStream::Synchronize() const {
  const ScopedContext current(*device_);
  NVC_RETURN_IF_ERROR(current.status());
  return device_->Check(device_->cuda().cuStreamSynchronize(get()), "cuStreamSynchronize");
}

absl::Status CopyPicture(const GpuPicture& picture, const SurfaceLayout& layout, CUdeviceptr to,
                         CUstream stream) {
  GpuDevice* const device = picture.device;
  const CudaDriver& cuda = device->cuda();
  const ScopedContext current(*device);
  NVC_RETURN_IF_ERROR(current.status());
  if (picture.ready != nullptr) {
    NVC_RETURN_IF_ERROR(
        device->Check(cuda.cuStreamWaitEvent(stream, picture.ready, 0), "cuStreamWaitEvent"));
  }
  absl::Status status;
  for (int i = 0; i < layout.num_planes && status.ok(); ++i) {
    const SurfaceLayout::Plane& plane = layout.planes[static_cast<size_t>(i)];
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = picture.planes[i];
    copy.srcPitch = picture.pitch;
    copy.dstDevice = to + plane.offset;
    copy.dstPitch = plane.stride;
    copy.WidthInBytes = static_cast<size_t>(plane.width * plane.channels * layout.sample_bytes);
    copy.Height = static_cast<size_t>(plane.height);
    status = device->Check(cuda.cuMemcpy2DAsync(&copy, stream), "cuMemcpy2DAsync");
  }
  const absl::Status used = picture.UsedOn(stream);
  return status.ok() ? used : status;
}

}  // namespace nvc
