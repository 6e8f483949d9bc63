// Tables of the NVIDIA driver's functions. Nothing links the driver: each library is opened on
// first use, so that one build runs with any driver, with a part of one, or with none.
#ifndef TF_NVCODEC_NV_CUDA_DRIVER_H_
#define TF_NVCODEC_NV_CUDA_DRIVER_H_

#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <ffnvcodec/nvEncodeAPI.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// Of CUDA's error numbers, which the headers leave out, those that are told apart here.
enum : int {
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaNotInitialized = 3,
  kCudaDeviceUnavailable = 46,
  kCudaNoDevice = 100,
  kCudaInvalidDevice = 101,
  kCudaInvalidImage = 200,
  kCudaInvalidContext = 201,
  kCudaInvalidHandle = 400,
  kCudaNotSupported = 801,
  kCudaSystemNotReady = 802,
  kCudaDriverMismatch = 803,
  kCudaCompatNotSupported = 804,
};

// libcuda.so.1, after a successful cuInit.
struct CudaDriver {
  // Signatures that the headers leave out.
  using MemGetInfo = CUresult CUDAAPI(size_t* free, size_t* total);
  using MemHostAlloc = CUresult CUDAAPI(void** memory, size_t bytes, unsigned int flags);
  using MemFreeHost = CUresult CUDAAPI(void* memory);
  using PointerGetAttribute = CUresult CUDAAPI(void* value, int attribute, CUdeviceptr memory);
  using StreamWaitEvent = CUresult CUDAAPI(CUstream stream, CUevent event, unsigned int flags);
  using CtxSynchronize = CUresult CUDAAPI();
  using CtxGetId = CUresult CUDAAPI(CUcontext context, unsigned long long* id);
  using StreamGetCtx = CUresult CUDAAPI(CUstream stream, CUcontext* context);

  tcuInit* cuInit = nullptr;
  tcuGetErrorName* cuGetErrorName = nullptr;
  tcuGetErrorString* cuGetErrorString = nullptr;
  tcuDeviceGetCount* cuDeviceGetCount = nullptr;
  tcuDeviceGet* cuDeviceGet = nullptr;
  tcuDeviceGetName* cuDeviceGetName = nullptr;
  tcuDeviceGetAttribute* cuDeviceGetAttribute = nullptr;
  tcuDevicePrimaryCtxRetain* cuDevicePrimaryCtxRetain = nullptr;
  tcuDevicePrimaryCtxRelease* cuDevicePrimaryCtxRelease = nullptr;
  tcuCtxPushCurrent_v2* cuCtxPushCurrent = nullptr;
  tcuCtxPopCurrent_v2* cuCtxPopCurrent = nullptr;
  tcuCtxGetDevice* cuCtxGetDevice = nullptr;
  CtxSynchronize* cuCtxSynchronize = nullptr;
  CtxGetId* cuCtxGetId = nullptr;  // null: a driver before CUDA 12.0

  MemGetInfo* cuMemGetInfo = nullptr;
  PointerGetAttribute* cuPointerGetAttribute = nullptr;
  tcuMemAlloc_v2* cuMemAlloc = nullptr;
  tcuMemFree_v2* cuMemFree = nullptr;
  MemHostAlloc* cuMemHostAlloc = nullptr;
  MemFreeHost* cuMemFreeHost = nullptr;
  tcuMemcpyHtoDAsync_v2* cuMemcpyHtoDAsync = nullptr;
  tcuMemcpyDtoHAsync_v2* cuMemcpyDtoHAsync = nullptr;
  tcuMemcpyDtoDAsync_v2* cuMemcpyDtoDAsync = nullptr;
  tcuMemcpy2DAsync_v2* cuMemcpy2DAsync = nullptr;
  tcuMemsetD8Async* cuMemsetD8Async = nullptr;

  tcuStreamCreate* cuStreamCreate = nullptr;
  tcuStreamDestroy_v2* cuStreamDestroy = nullptr;
  tcuStreamSynchronize* cuStreamSynchronize = nullptr;
  StreamWaitEvent* cuStreamWaitEvent = nullptr;
  StreamGetCtx* cuStreamGetCtx = nullptr;
  tcuEventCreate* cuEventCreate = nullptr;
  tcuEventDestroy_v2* cuEventDestroy = nullptr;
  tcuEventRecord* cuEventRecord = nullptr;
  tcuEventQuery* cuEventQuery = nullptr;
  tcuEventSynchronize* cuEventSynchronize = nullptr;

  tcuModuleLoadData* cuModuleLoadData = nullptr;
  tcuModuleGetFunction* cuModuleGetFunction = nullptr;
  tcuLaunchKernel* cuLaunchKernel = nullptr;

  // OK, or a status that reads "<doing>: <CUDA's name and words for the error>": ResourceExhausted
  // when memory is out, FailedPrecondition without a usable driver or GPU, Unimplemented for what
  // they don't support, else Internal.
  absl::Status Check(CUresult result, absl::string_view doing) const;
};

// libnvcuvid.so.1.
struct CuvidDriver {
  tcuvidGetDecoderCaps* cuvidGetDecoderCaps = nullptr;
  tcuvidCreateDecoder* cuvidCreateDecoder = nullptr;
  tcuvidDestroyDecoder* cuvidDestroyDecoder = nullptr;
  tcuvidReconfigureDecoder* cuvidReconfigureDecoder = nullptr;
  tcuvidDecodePicture* cuvidDecodePicture = nullptr;
  tcuvidGetDecodeStatus* cuvidGetDecodeStatus = nullptr;
  tcuvidMapVideoFrame64* cuvidMapVideoFrame64 = nullptr;
  tcuvidUnmapVideoFrame64* cuvidUnmapVideoFrame64 = nullptr;
  tcuvidCreateVideoParser* cuvidCreateVideoParser = nullptr;
  tcuvidParseVideoData* cuvidParseVideoData = nullptr;
  tcuvidDestroyVideoParser* cuvidDestroyVideoParser = nullptr;
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

// FailedPrecondition: there is a driver, and no GPU that it lets this process see.
absl::Status NoGpu();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_DRIVER_H_
