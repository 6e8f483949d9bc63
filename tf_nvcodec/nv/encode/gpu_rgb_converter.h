// 8-bit RGB frames in device memory to the planes that an encoder reads there.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_RGB_CONVERTER_H_
#define TF_NVCODEC_NV_ENCODE_GPU_RGB_CONVERTER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"
#include "tf_nvcodec/nv/kernels/rgb_kernel.h"

namespace nvc {

// Three or four bytes; of four, the last one is not read.
struct RgbPixel {
  int bytes = 3;
  bool blue_first = false;
};

class GpuRgbConverter : public GpuToPlanes {
 public:
  // Unimplemented for streams that are not of 8-bit 4:2:0 or 4:4:4 planes; FailedPrecondition
  // without NVRTC.
  static absl::StatusOr<std::unique_ptr<GpuRgbConverter>> Create(GpuDevice* device,
                                                                 const StreamSpec& stream,
                                                                 const RgbPixel& pixel);

  size_t frame_bytes() const override { return row_bytes() * static_cast<size_t>(params_.height); }
  absl::Status Convert(CUstream stream, CUdeviceptr pixels, AVFrame* frame) const override;

 private:
  GpuRgbConverter(GpuDevice* device, CUfunction kernel, const StreamSpec& stream,
                  const RgbPixel& pixel);
  size_t row_bytes() const {
    return static_cast<size_t>(params_.width) * static_cast<size_t>(params_.pixel_bytes);
  }

  GpuDevice* const device_;
  const CUfunction kernel_;
  RgbParams params_ = {};
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_RGB_CONVERTER_H_
