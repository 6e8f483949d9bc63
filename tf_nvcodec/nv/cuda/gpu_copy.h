// Copies of frames that are in device memory.
#ifndef TF_NVCODEC_NV_CUDA_GPU_COPY_H_
#define TF_NVCODEC_NV_CUDA_GPU_COPY_H_

#include <ffnvcodec/dynlink_cuda.h>

#include <cstddef>

#include "absl/status/status.h"

namespace nvc {

class GpuDevice;

// Queued on `stream`, no wait. The ranges must not overlap.
absl::Status CopyOnDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, CUdeviceptr from,
                          size_t bytes);

// Queued on `stream` behind the work that writes `from`. `to` is host memory of any kind and holds
// the bytes on return: page-locked memory of ours carries them in pieces, since a copy straight to
// pageable memory is several times slower. Thread-safe.
absl::Status CopyToHost(GpuDevice* device, CUstream stream, void* to, CUdeviceptr from,
                        size_t bytes);

// The other way; on return `from` may be reused, and work queued on `stream` finds the bytes.
absl::Status CopyToDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, const void* from,
                          size_t bytes);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_GPU_COPY_H_
