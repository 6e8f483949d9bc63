// Kernels compiled for a GPU, kept for the life of the process.
#ifndef TF_NVCODEC_NV_CUDA_KERNEL_CACHE_H_
#define TF_NVCODEC_NV_CUDA_KERNEL_CACHE_H_

#include <ffnvcodec/dynlink_cuda.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {

class GpuDevice;

// `function` of `source` compiled with `macros` for `device`. The first call for a (device, source
// name, function, macros) compiles; calls for the same at that time wait for it. A failure is not
// kept. Thread-safe.
absl::StatusOr<CUfunction> GetKernel(GpuDevice* device, const CudaSource& source,
                                     const std::string& function,
                                     const std::vector<std::string>& macros);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_KERNEL_CACHE_H_
