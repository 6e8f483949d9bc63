// A decoded picture in device memory, as frames of a GPU decoder carry it: their format is
// AV_PIX_FMT_CUDA, `opaque` points to it and buf[0] owns it.
#ifndef TF_NVCODEC_NV_CUDA_GPU_PICTURE_H_
#define TF_NVCODEC_NV_CUDA_GPU_PICTURE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

// Who has to know that a picture is still being read.
class GpuPictureOwner {
 public:
  virtual ~GpuPictureOwner() = default;
  // The memory stays as it is until all that is queued on `stream` now is done. Thread-safe.
  virtual absl::Status UsedOn(CUstream stream) = 0;
};

struct GpuPicture {
  GpuDevice* device = nullptr;
  // Top left of the displayed area. NV12, P016: luma, then interleaved chroma.
  CUdeviceptr planes[3] = {};
  size_t pitch = 0;  // bytes, of every plane
  // NV12, P016LE, YUV444P or YUV444P16LE; the 16-bit ones have their samples in the high bits.
  AVPixelFormat layout = AV_PIX_FMT_NONE;
  // As FFmpeg's decoder would give the same picture: yuv420p, yuv444p, gray, of 8, 10 or 12 bits.
  // Never the yuvj kinds: the range is the frame's color_range.
  AVPixelFormat stream_format = AV_PIX_FMT_NONE;
  CUevent ready = nullptr;  // wait for it before reading
  GpuPictureOwner* owner = nullptr;

  // To be called after the last read is queued on `stream`, before the frame is let go.
  absl::Status UsedOn(CUstream stream) const {
    return owner != nullptr ? owner->UsedOn(stream) : absl::OkStatus();
  }
};

// Null for frames in host memory.
inline const GpuPicture* GpuPictureOf(const AVFrame& frame) {
  return frame.format == AV_PIX_FMT_CUDA ? static_cast<const GpuPicture*>(frame.opaque) : nullptr;
}

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_GPU_PICTURE_H_
