// What encodes a batch of frames in the memory of a GPU.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_ENCODE_H_
#define TF_NVCODEC_NV_ENCODE_GPU_ENCODE_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/encode/encode_backend.h"

namespace nvc {

// `bytes` of host memory that stay until the encode is over.
using HostMemory = std::function<absl::StatusOr<void*>(size_t bytes)>;

// For frames whose data is memory of `gpu`, complete once what is queued on `stream` is: the NVENC
// of that GPU gets them there; for the CPU's encoders all of them are copied to `host`, once. The
// frames are not referred to once the write returns.
EncodeEngines EnginesOnGpu(GpuDevice* gpu, CUstream stream, HostMemory host);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_ENCODE_H_
