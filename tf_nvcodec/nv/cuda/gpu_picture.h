// A decoded picture in GPU memory. A frame that carries one has the format AV_PIX_FMT_CUDA; its
// `opaque` points to the GpuPicture and its buf[0] owns it.
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

// Owns a picture's memory and must know who still reads it.
class GpuPictureOwner {
 public:
  virtual ~GpuPictureOwner() = default;
  // Keeps the memory unchanged until the work now queued on `stream` is done. Thread-safe.
  virtual absl::Status UsedOn(CUstream stream) = 0;
};

struct GpuPicture {
  GpuDevice* device = nullptr;
  // Addresses of the top left sample of the displayed area. NV12 and P016 have luma, then
  // interleaved chroma.
  CUdeviceptr planes[3] = {};
  size_t pitch = 0;  // in bytes, for every plane
  // NV12, P016LE, YUV444P or YUV444P16LE. The 16-bit formats have their samples in the high bits.
  AVPixelFormat layout = AV_PIX_FMT_NONE;
  // The format that FFmpeg's decoder gives the same picture: yuv420p, yuv444p or gray, with 8, 10
  // or 12 bits. Never a yuvj format; the range is in the frame's color_range.
  AVPixelFormat stream_format = AV_PIX_FMT_NONE;
  CUevent ready = nullptr;  // a reader waits for this event first
  GpuPictureOwner* owner = nullptr;

  // Call this after the last read is queued on `stream` and before the frame is released.
  absl::Status UsedOn(CUstream stream) const {
    return owner != nullptr ? owner->UsedOn(stream) : absl::OkStatus();
  }
};

// Returns null for a frame in host memory.
inline const GpuPicture* GpuPictureOf(const AVFrame& frame) {
  return frame.format == AV_PIX_FMT_CUDA ? static_cast<const GpuPicture*>(frame.opaque) : nullptr;
}

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_GPU_PICTURE_H_
