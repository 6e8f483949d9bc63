// Deinterlaces pictures in GPU memory, as core/convert/deinterlace.h does in host memory.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_
#define TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// Returns a converter that deinterlaces GPU pictures before `converter` converts them, as
// NewBobConverter does in host memory. Both queue their work on `stream`, and this one adds a
// kernel for each plane, which writes to memory of its own. Its destructor waits for the GPU,
// because the driver frees that memory only when the GPU is idle. Other GPU converters don't wait.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuBobConverter(
    GpuDevice* device, CUstream stream, std::unique_ptr<FrameConverter> converter);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_
