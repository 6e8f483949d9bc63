// core/deinterlace.h for pictures in device memory.
#ifndef TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_
#define TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

namespace nvc {

// As NewBobConverter, for a converter of GPU pictures that queues on `stream`, as this one does: by
// one more kernel for each plane, into memory of its own. Unlike other converters' work, its end is
// waited for when it is destroyed: that is when the driver takes memory back.
absl::StatusOr<std::unique_ptr<FrameConverter>> NewGpuBobConverter(
    GpuDevice* device, CUstream stream, std::unique_ptr<FrameConverter> converter);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CONVERT_GPU_DEINTERLACE_H_
