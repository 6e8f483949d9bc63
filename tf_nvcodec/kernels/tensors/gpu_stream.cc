#include "tf_nvcodec/kernels/tensors/gpu_stream.h"

#include "tensorflow/core/framework/device_base.h"
#include "tf_nvcodec/core/base/status.h"
#include "xla/stream_executor/stream.h"

namespace nvc {

absl::StatusOr<GpuStream> GpuStreamOf(::tensorflow::OpKernelContext* context) {
  ::tensorflow::DeviceContext* const device_context = context->op_device_context();
  ::stream_executor::Stream* const stream =
      device_context == nullptr ? nullptr : device_context->stream();
  // This is a virtual call: TensorFlow's library exports no other function of its streams.
  void* const handle = stream == nullptr ? nullptr : stream->platform_specific_handle().stream;
  const auto* const info = context->device()->tensorflow_accelerator_device_info();
  if (handle == nullptr || info == nullptr) {
    return absl::InternalError(
        "TensorFlow gives this kernel no CUDA stream; backend=\"cpu\" on a CPU device needs none");
  }
  GpuStream gpu;
  // `gpu_id` counts all GPUs that CUDA shows. TensorFlow may use only some of them.
  NVC_ASSIGN_OR_RETURN(gpu.device, GpuDevice::Get(info->gpu_id));
  gpu.stream = static_cast<CUstream>(handle);
  return gpu;
}

}  // namespace nvc
