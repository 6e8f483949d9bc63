// Conversions ready to run on a GPU, shared by all converters of the same kind in the process.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_FRAME_CONVERTER_H_
#define TF_NVCODEC_NV_CONVERT_GPU_FRAME_CONVERTER_H_

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

class GpuDevice;

// What a converter for `frame`, which carries a GpuPicture, is made for: SourceSpec::Of but for the
// format, which is the stream's. The format is AV_PIX_FMT_NONE where there is no GpuPicture.
SourceSpec GpuSourceSpec(const AVFrame& frame, int rotation);

// Convert queues all its work on `stream` and never waits on the host: `out` is device memory of
// the same device, written once the work queued so far is done, and must live until then. The
// picture may be released as soon as Convert returns. Errors are those of FrameConverter::Create
// and Convert; Unimplemented for a source.format that no GpuPicture has, FailedPrecondition where
// NVRTC is missing.
//
// The kernel is compiled on first use of its kind in the process (some 100 ms); later converters
// share it and their tables.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuFrameConverter(GpuDevice* device,
                                                                     CUstream stream,
                                                                     const OutputSpec& output,
                                                                     const SourceSpec& source);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_FRAME_CONVERTER_H_
