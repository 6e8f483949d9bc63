// Converts frames in GPU memory to the planes that an encoder reads there.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_
#define TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/kernels/planes_kernel.h"
#include "tf_nvcodec/nv/kernels/rgb_kernel.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// The result equals that of core's frame loader for the same frame and stream, bit for bit.
class GpuToPlanes {
 public:
  virtual ~GpuToPlanes() = default;

  virtual size_t frame_bytes() const = 0;
  // Queues the conversion on `stream`. `samples` holds rows without padding. `frame` is a CUDA
  // frame of the stream's layout on this GPU.
  virtual absl::Status Convert(CUstream stream, CUdeviceptr samples, AVFrame* frame) const = 0;
  // Returns whether any float converted so far was NaN or far outside [0, 1]. Valid once the work
  // on the stream is done.
  virtual bool found_out_of_range() const { return false; }

 protected:
  GpuToPlanes() = default;
  GpuToPlanes(const GpuToPlanes&) = delete;
  GpuToPlanes& operator=(const GpuToPlanes&) = delete;

  // Queues `kernel` with `params` and one thread for each chroma sample.
  static absl::Status Launch(const GpuDevice& device, CUfunction kernel, void* params,
                             const char* doing, const AVFrame& frame, int chroma_shift,
                             CUstream stream);
};

// Converts RGB and gray of any sample type but 8-bit RGB, and packed Y'CbCr whose depth or chroma
// size differs from the stream's.
class GpuPlanesConverter : public GpuToPlanes {
 public:
  // Does not read the data of `frames`. Returns Unimplemented for a stream without 8-bit 4:2:0 or
  // 4:4:4 planes, and FailedPrecondition without NVRTC.
  static absl::StatusOr<std::unique_ptr<GpuPlanesConverter>> Create(GpuDevice* device,
                                                                    const FrameBatch& frames,
                                                                    const StreamSpec& stream);

  size_t frame_bytes() const override { return frame_bytes_; }
  absl::Status Convert(CUstream stream, CUdeviceptr samples, AVFrame* frame) const override;
  bool found_out_of_range() const override;

 private:
  GpuPlanesConverter(GpuDevice* device, CUfunction kernel, PinnedMemory flag, size_t frame_bytes,
                     const PlanesParams& params)
      : device_(device),
        kernel_(kernel),
        flag_(std::move(flag)),
        frame_bytes_(frame_bytes),
        params_(params) {}

  GpuDevice* const device_;
  const CUfunction kernel_;
  const PinnedMemory flag_;  // host memory that the GPU writes to
  const size_t frame_bytes_;
  const PlanesParams params_;
};

// A pixel of three or four bytes. The fourth byte is not read.
struct RgbPixel {
  int bytes = 3;
  bool blue_first = false;
};

// Converts 8-bit RGB pixels.
class GpuRgbConverter : public GpuToPlanes {
 public:
  // Returns Unimplemented for a stream without 8-bit 4:2:0 or 4:4:4 planes, and FailedPrecondition
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

#endif  // TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_
