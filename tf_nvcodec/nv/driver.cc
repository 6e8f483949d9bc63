#include "tf_nvcodec/nv/driver.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/status.h"
#include "tf_nvcodec/nv/dynamic_library.h"

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
  NVC_RETURN_IF_ERROR(library.Resolve("cuDevicePrimaryCtxRetain", &cuda.cuDevicePrimaryCtxRetain));
  NVC_RETURN_IF_ERROR(
      library.Resolve("cuDevicePrimaryCtxRelease_v2", &cuda.cuDevicePrimaryCtxRelease));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxPushCurrent_v2", &cuda.cuCtxPushCurrent));
  NVC_RETURN_IF_ERROR(library.Resolve("cuCtxPopCurrent_v2", &cuda.cuCtxPopCurrent));
  NVC_RETURN_IF_ERROR(cuda.Check(cuda.cuInit(0), "cuInit of libcuda.so.1"));
  return cuda;
}

absl::StatusOr<CuvidDriver> LoadCuvid() {
  NVC_ASSIGN_OR_RETURN(const DynamicLibrary library,
                       DynamicLibrary::Open("libnvcuvid.so.1", kVideoCure));
  CuvidDriver cuvid;
  NVC_RETURN_IF_ERROR(library.Resolve("cuvidGetDecoderCaps", &cuvid.cuvidGetDecoderCaps));
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
  return absl::FailedPreconditionError(absl::StrCat(doing, ": ", name ? name : "CUDA error ",
                                                    name ? "" : absl::StrCat(int{result}), ", ",
                                                    words ? words : "unknown to the driver"));
}

absl::StatusOr<const CudaDriver*> GetCudaDriver() {
  static const auto* table = new absl::StatusOr<CudaDriver>(LoadCuda());
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

}  // namespace nvc
