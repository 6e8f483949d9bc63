// Finds the GPU and the CUDA stream that TensorFlow runs a kernel on.
#ifndef TF_NVCODEC_KERNELS_TENSORS_GPU_STREAM_H_
#define TF_NVCODEC_KERNELS_TENSORS_GPU_STREAM_H_

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

struct GpuStream {
  GpuDevice* device = nullptr;
  CUstream stream = nullptr;
};

// Returns the GPU and the stream of a kernel that is registered for DEVICE_GPU. Work queued on this
// stream runs after the work that makes the kernel's inputs. It runs before any work that uses the
// kernel's outputs or reuses memory that the kernel frees.
absl::StatusOr<GpuStream> GpuStreamOf(::tensorflow::OpKernelContext* context);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_GPU_STREAM_H_
