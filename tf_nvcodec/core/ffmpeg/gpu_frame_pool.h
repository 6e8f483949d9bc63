// Allocates frames in GPU memory from libavutil's pools, for encoders that read frames there.
#ifndef TF_NVCODEC_CORE_FFMPEG_GPU_FRAME_POOL_H_
#define TF_NVCODEC_CORE_FFMPEG_GPU_FRAME_POOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavutil/buffer.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

class GpuFramePool {
 public:
  // Makes a pool of frames of `width` x `height` pixels in the sample format `layout`. `device` is
  // a CUDA device of libavutil and may be released before the pool. Returns Unimplemented when
  // libavutil has no GPU frames of this layout.
  static absl::StatusOr<std::unique_ptr<GpuFramePool>> Create(AVBufferRef* device,
                                                              AVPixelFormat layout, int width,
                                                              int height);
  ~GpuFramePool() { av_buffer_unref(&frames_); }
  GpuFramePool(const GpuFramePool&) = delete;
  GpuFramePool& operator=(const GpuFramePool&) = delete;

  // Describes the frames to an encoder: its hw_frames_ctx.
  AVBufferRef* frames() const { return frames_; }
  AVPixelFormat layout() const { return layout_; }

  // Returns a frame with undefined contents. It may outlive the pool.
  absl::StatusOr<AvFramePtr> Take() const;
  // Copies a frame in host memory, with its times and tags, to a new frame of the pool. `frame` has
  // the pool's layout and size.
  absl::StatusOr<AvFramePtr> Upload(const AVFrame& frame) const;

 private:
  GpuFramePool(AVBufferRef* frames, AVPixelFormat layout) : frames_(frames), layout_(layout) {}

  AVBufferRef* frames_;
  const AVPixelFormat layout_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_GPU_FRAME_POOL_H_
