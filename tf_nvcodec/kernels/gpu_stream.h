// The GPU and the CUDA stream that TensorFlow runs a kernel on.
#ifndef TF_NVCODEC_KERNELS_GPU_STREAM_H_
#define TF_NVCODEC_KERNELS_GPU_STREAM_H_

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

struct GpuStream {
  GpuDevice* device = nullptr;
  CUstream stream = nullptr;
};

// Of a kernel registered for DEVICE_GPU. What is queued there comes after the work that made the
// kernel's inputs and before whatever takes its outputs, or the memory that it gives back.
absl::StatusOr<GpuStream> GpuStreamOf(::tensorflow::OpKernelContext* context);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_GPU_STREAM_H_
