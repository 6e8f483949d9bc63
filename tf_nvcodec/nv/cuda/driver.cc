#include "tf_nvcodec/nv/cuda/driver.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/dynamic_library.h"

namespace nvc {
namespace {

constexpr char kCudaCure[] =
    "Install the NVIDIA driver, or start the container with the GPU (docker run --gpus all)";
constexpr char kVideoCure[] =
    "Install the NVIDIA driver's video libraries; a container needs "
    "NVIDIA_DRIVER_CAPABILITIES=compute,video,utility";

absl::StatusOr<CudaDriver> LoadCuda() {
  NVC_ASSIGN_OR_RETURN(const DynamicLibrary library,
                       DynamicLibrary::Open("libcuda.so.1", kCudaCure));
  CudaDriver cuda;
  NVC_RETURN_IF_ERROR(library.Resolve("cuInit", &cuda.cuInit));
  NVC_RETURN_IF_ERROR(library.Resolve("cuGetErrorName", &cuda.cuGetErrorName));
  NVC_RETURN_IF_ERROR(library.Resolve("cuGetErrorString", &cuda.cuGetErrorString));
  NVC_RETURN_IF_ERROR(library.Resolve("cuDeviceGetCount", &cuda.cuDeviceGetCount));
  NVC_RETURN_IF_ERROR(library.Resolve("cuDeviceGet", &cuda.cuDeviceGet));
  NVC_RETURN_IF_ERROR(library.Resolve("cuDeviceGetName", &cuda.cuDeviceGetName));
  NVC_RETURN_IF_ERROR(library.Resolve("cuDeviceGetAttribute", &cuda.cuDeviceGetAttribute));
  NVC_RETURN_IF_ERROR(library.Resolve("cuDevicePrimaryCtxRetain", &cuda.cuDevicePrimaryCtxRetain));
  NVC_RETURN_IF_ERROR(
      library.Resolve("cuDevicePrimaryCtxRelease_v2", &cuda.cuDevicePrimaryCtxRelease));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxPushCurrent_v2", &cuda.cuCtxPushCurrent));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxPopCurrent_v2", &cuda.cuCtxPopCurrent));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxGetDevice", &cuda.cuCtxGetDevice));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxSynchronize", &cuda.cuCtxSynchronize));
  library.Resolve("cuCtxGetId", &cuda.cuCtxGetId).IgnoreError();

  NVC_RETURN_IF_ERROR(library.Resolve("cuMemGetInfo_v2", &cuda.cuMemGetInfo));
  NVC_RETURN_IF_ERROR(library.Resolve("cuPointerGetAttribute", &cuda.cuPointerGetAttribute));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemAlloc_v2", &cuda.cuMemAlloc));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemFree_v2", &cuda.cuMemFree));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemHostAlloc", &cuda.cuMemHostAlloc));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemFreeHost", &cuda.cuMemFreeHost));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemcpyHtoDAsync_v2", &cuda.cuMemcpyHtoDAsync));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemcpyDtoHAsync_v2", &cuda.cuMemcpyDtoHAsync));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemcpyDtoDAsync_v2", &cuda.cuMemcpyDtoDAsync));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemcpy2DAsync_v2", &cuda.cuMemcpy2DAsync));
  NVC_RETURN_IF_ERROR(library.Resolve("cuMemsetD8Async", &cuda.cuMemsetD8Async));

  NVC_RETURN_IF_ERROR(library.Resolve("cuStreamCreate", &cuda.cuStreamCreate));
  NVC_RETURN_IF_ERROR(library.Resolve("cuStreamDestroy_v2", &cuda.cuStreamDestroy));
  NVC_RETURN_IF_ERROR(library.Resolve("cuStreamSynchronize", &cuda.cuStreamSynchronize));
  NVC_RETURN_IF_ERROR(library.Resolve("cuStreamWaitEvent", &cuda.cuStreamWaitEvent));
  NVC_RETURN_IF_ERROR(library.Resolve("cuStreamGetCtx", &cuda.cuStreamGetCtx));
  NVC_RETURN_IF_ERROR(library.Resolve("cuEventCreate", &cuda.cuEventCreate));
  NVC_RETURN_IF_ERROR(library.Resolve("cuEventDestroy_v2", &cuda.cuEventDestroy));
  NVC_RETURN_IF_ERROR(library.Resolve("cuEventRecord", &cuda.cuEventRecord));
  NVC_RETURN_IF_ERROR(library.Resolve("cuEventQuery", &cuda.cuEventQuery));
  NVC_RETURN_IF_ERROR(library.Resolve("cuEventSynchronize", &cuda.cuEventSynchronize));

  NVC_RETURN_IF_ERROR(library.Resolve("cuModuleLoadData", &cuda.cuModuleLoadData));
  NVC_RETURN_IF_ERROR(library.Resolve("cuModuleGetFunction", &cuda.cuModuleGetFunction));
  NVC_RETURN_IF_ERROR(library.Resolve("cuLaunchKernel", &cuda.cuLaunchKernel));

  const absl::Status started = cuda.Check(cuda.cuInit(0), "cuInit of libcuda.so.1");
  if (!started.ok()) return absl::FailedPreconditionError(started.message());
  return cuda;
}

absl::StatusOr<CuvidDriver> LoadCuvid() {
  NVC_ASSIGN_OR_RETURN(const DynamicLibrary library,
                       DynamicLibrary::Open("libnvcuvid.so.1", kVideoCure));
  CuvidDriver cuvid;
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidGetDecoderCaps", &cuvid.cuvidGetDecoderCaps));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidCreateDecoder", &cuvid.cuvidCreateDecoder));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidDestroyDecoder", &cuvid.cuvidDestroyDecoder));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidReconfigureDecoder", &cuvid.cuvidReconfigureDecoder));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidDecodePicture", &cuvid.cuvidDecodePicture));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidGetDecodeStatus", &cuvid.cuvidGetDecodeStatus));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidMapVideoFrame64", &cuvid.cuvidMapVideoFrame64));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidUnmapVideoFrame64", &cuvid.cuvidUnmapVideoFrame64));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidCreateVideoParser", &cuvid.cuvidCreateVideoParser));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidParseVideoData", &cuvid.cuvidParseVideoData));
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidDestroyVideoParser", &cuvid.cuvidDestroyVideoParser));
  return cuvid;
}

absl::StatusOr<NvencDriver> LoadNvenc() {
  NVC_ASSIGN_OR_RETURN(const DynamicLibrary library,
                       DynamicLibrary::Open("libnvidia-encode.so.1", kVideoCure));
  NVENCSTATUS (*max_supported_version)(uint32_t*) = nullptr;
  NVENCSTATUS (*create_instance)(NV_ENCODE_API_FUNCTION_LIST*) = nullptr;
  NVC_RETURN_IF_ERROR(library.Resolve("NvEncodeAPIGetMaxSupportedVersion", &max_supported_version));
  NVC_RETURN_IF_ERROR(library.Resolve("NvEncodeAPICreateInstance", &create_instance));

  // The driver counts in 4-bit minor versions; the headers keep the minor in the top byte.
  uint32_t driver_version = 0;
  constexpr uint32_t kOurVersion = (NVENCAPI_MAJOR_VERSION << 4) | NVENCAPI_MINOR_VERSION;
  if (max_supported_version(&driver_version) != NV_ENC_SUCCESS || driver_version < kOurVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("libnvidia-encode.so.1 offers NVENC ", driver_version >> 4, ".",
                     driver_version & 0xf, ", this build needs ", NVENCAPI_MAJOR_VERSION, ".",
                     NVENCAPI_MINOR_VERSION, ": update the NVIDIA driver"));
  }
  NvencDriver nvenc;
  nvenc.api.version = NV_ENCODE_API_FUNCTION_LIST_VER;
  if (const NVENCSTATUS status = create_instance(&nvenc.api); status != NV_ENC_SUCCESS) {
    return absl::FailedPreconditionError(
        absl::StrCat("NvEncodeAPICreateInstance of libnvidia-encode.so.1 failed with NVENCSTATUS ",
                     static_cast<int>(status)));
  }
  return nvenc;
}

absl::StatusCode CodeOf(CUresult result) {
  switch (static_cast<int>(result)) {
    case kCudaOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case kCudaNotInitialized:
    case kCudaDeviceUnavailable:
    case kCudaNoDevice:
    case kCudaInvalidDevice:
    case kCudaSystemNotReady:
    case kCudaDriverMismatch:
    case kCudaCompatNotSupported:
      return absl::StatusCode::kFailedPrecondition;
    case kCudaNotSupported:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kInternal;
  }
}

template <typename Table>
absl::StatusOr<const Table*> AddressOf(const absl::StatusOr<Table>& table) {
  if (!table.ok()) return table.status();
  return &*table;
}

}  // namespace

absl::Status CudaDriver::Check(CUresult result, absl::string_view doing) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* words = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &words);
  return absl::Status(
      CodeOf(result),
      absl::StrCat(doing, ": ", name != nullptr ? name : absl::StrCat("CUDA error ", int{result}),
                   ", ", words != nullptr ? words : "unknown to the driver"));
}

absl::StatusOr<const CudaDriver*> GetCudaDriver() {
  static const auto* table = new absl::StatusOr<CudaDriver>(LoadCuda());
  static const pid_t process = getpid();
  if (table->ok() && process != getpid()) {
    return absl::FailedPreconditionError(
        "this process is a fork of one that uses CUDA, which can't be used in it: start processes "
        "with multiprocessing.get_context(\"spawn\")");
  }
  return AddressOf(*table);
}

absl::StatusOr<const CuvidDriver*> GetCuvidDriver() {
  static const auto* table = new absl::StatusOr<CuvidDriver>(LoadCuvid());
  return AddressOf(*table);
}

absl::StatusOr<const NvencDriver*> GetNvencDriver() {
  static const auto* table = new absl::StatusOr<NvencDriver>(LoadNvenc());
  return AddressOf(*table);
}

absl::Status NoGpu() {
  return absl::FailedPreconditionError("libcuda.so.1 sees no GPU (is CUDA_VISIBLE_DEVICES empty?)");
}

}  // namespace nvc
