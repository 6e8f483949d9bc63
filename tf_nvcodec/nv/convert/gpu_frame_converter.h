// Converts decoded pictures in GPU memory to frames in GPU memory, with one kernel launch per job.
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

// A conversion that is ready to run: compiled kernels and uploaded tables.
struct GpuConversion {
  FrameKernelPlan plan;
  std::vector<CUfunction> kernels;  // one for each job of the plan
  DeviceMemory tables;              // empty if the plan has no tables
  CudaEvent uploaded;               // happens when the tables are in GPU memory
};

// Returns the conversion from `source` to `output`; the caller can use it in work that it queues on
// `stream` from now on. All converters of the process share conversions. The last ones used stay in
// memory, so that a series of new clips neither compiles kernels nor allocates memory. Thread-safe.
absl::StatusOr<std::shared_ptr<const GpuConversion>> GetGpuConversion(GpuDevice* device,
                                                                      CUstream stream,
                                                                      const OutputSpec& output,
                                                                      const SourceSpec& source);

class GpuDevice;

// Returns the source that a converter for `frame` is made for. It equals SourceSpec::Of but for the
// format, which is the stream's; AV_PIX_FMT_NONE if `frame` carries no GpuPicture.
SourceSpec GpuSourceSpec(const AVFrame& frame, Orientation orientation = {});

// Returns a converter whose Convert queues all its work on `stream` and never waits on the host.
// Convert's `out` is memory of the same GPU. It is written when the work queued so far is done, and
// must live until then. The caller may release the picture as soon as Convert returns.
//
// Errors are those of FrameConverter::Create and Convert. Also returns Unimplemented for a
// source.format that no GpuPicture has, and FailedPrecondition if NVRTC is missing.
//
// The first conversion of its kind in the process compiles the kernel, which takes about 100 ms.
// Later converters share the kernel and their tables.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuFrameConverter(GpuDevice* device,
                                                                     CUstream stream,
                                                                     const OutputSpec& output,
                                                                     const SourceSpec& source);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_FRAME_CONVERTER_H_
