// Copies frames within GPU memory, to the host and to the GPU.
#ifndef TF_NVCODEC_NV_CUDA_GPU_COPY_H_
#define TF_NVCODEC_NV_CUDA_GPU_COPY_H_

#include <ffnvcodec/dynlink_cuda.h>

#include <cstddef>

#include "absl/status/status.h"

namespace nvc {

class GpuDevice;

// Queues the copy of `bytes` bytes on `stream` and does not wait. The ranges must not overlap.
absl::Status CopyOnDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, CUdeviceptr from,
                          size_t bytes);

// Queues on `stream` that `bytes` bytes become 0, and does not wait.
absl::Status ZeroOnDevice(GpuDevice* device, CUstream stream, CUdeviceptr at, size_t bytes);

// Copies `bytes` bytes after the work on `stream` that writes `from`. `to` is host memory of any
// kind and holds the bytes on return. The bytes go through page-locked memory in pieces, because a
// direct copy to pageable memory is several times slower. Thread-safe.
absl::Status CopyToHost(GpuDevice* device, CUstream stream, void* to, CUdeviceptr from,
                        size_t bytes);

// Copies `bytes` bytes to the GPU. On return the caller may reuse `from`. Work queued on `stream`
// later finds the bytes. Thread-safe.
absl::Status CopyToDevice(GpuDevice* device, CUstream stream, CUdeviceptr to, const void* from,
                          size_t bytes);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_GPU_COPY_H_
