// Tables of the NVIDIA driver's functions. Nothing links the driver: each library is opened on
// first use, so that one build runs with any driver, with a part of one, or with none.
#ifndef TF_NVCODEC_NV_DRIVER_H_
#define TF_NVCODEC_NV_DRIVER_H_

#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/nvEncodeAPI.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// libcuda.so.1, after a successful cuInit.
struct CudaDriver {
  tcuInit* cuInit = nullptr;
  tcuGetErrorName* cuGetErrorName = nullptr;
  tcuGetErrorString* cuGetErrorString = nullptr;
  tcuDeviceGetCount* cuDeviceGetCount = nullptr;
  tcuDeviceGet* cuDeviceGet = nullptr;
  tcuDeviceGetName* cuDeviceGetName = nullptr;
  tcuDevicePrimaryCtxRetain* cuDevicePrimaryCtxRetain = nullptr;
  tcuDevicePrimaryCtxRelease* cuDevicePrimaryCtxRelease = nullptr;
  tcuCtxPushCurrent_v2* cuCtxPushCurrent = nullptr;
  tcuCtxPopCurrent_v2* cuCtxPopCurrent = nullptr;

  // OK, or FailedPrecondition that reads "<doing>: <CUDA's name and words for the error>".
  absl::Status Check(CUresult result, absl::string_view doing) const;
};

// libnvcuvid.so.1.
struct CuvidDriver {
  tcuvidGetDecoderCaps* cuvidGetDecoderCaps = nullptr;
};

// libnvidia-encode.so.1, with the function list that it hands out.
struct NvencDriver {
  NV_ENCODE_API_FUNCTION_LIST api = {};
};

// Each opens its library on the first call and answers the same ever after. FailedPrecondition
// names the library, what went wrong and the cure.
absl::StatusOr<const CudaDriver*> GetCudaDriver();
absl::StatusOr<const CuvidDriver*> GetCuvidDriver();
absl::StatusOr<const NvencDriver*> GetNvencDriver();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DRIVER_H_
