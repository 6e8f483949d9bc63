// Conversions ready to run on a GPU, shared by all converters of the same kind in the process.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_CONVERSION_H_
#define TF_NVCODEC_NV_CONVERT_GPU_CONVERSION_H_

#include <ffnvcodec/dynlink_cuda.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"

namespace nvc {

struct GpuConversion {
  FrameKernelPlan plan;
  std::vector<CUfunction> kernels;  // for each job
  DeviceMemory tables;              // empty when the plan has none
  CudaEvent uploaded;
};

// What is queued on `stream` from now on may use it. Those used last are kept, so that a stream of
// new clips neither compiles nor allocates. Thread-safe.
absl::StatusOr<std::shared_ptr<const GpuConversion>> GetGpuConversion(GpuDevice* device,
                                                                      CUstream stream,
                                                                      const OutputSpec& output,
                                                                      const SourceSpec& source);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_CONVERSION_H_
