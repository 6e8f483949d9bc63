// Frames in a GPU's memory as libavutil pools them, for encoders that read them there.
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
  // Of frames whose samples are laid out as `layout`; `device` is libavutil's, of CUDA, and may go
  // before the pool. Unimplemented for a layout that it has none of.
  static absl::StatusOr<std::unique_ptr<GpuFramePool>> Create(AVBufferRef* device,
                                                              AVPixelFormat layout, int width,
                                                              int height);
  ~GpuFramePool() { av_buffer_unref(&frames_); }
  GpuFramePool(const GpuFramePool&) = delete;
  GpuFramePool& operator=(const GpuFramePool&) = delete;

  // What an encoder has to know of the frames: its hw_frames_ctx.
  AVBufferRef* frames() const { return frames_; }
  AVPixelFormat layout() const { return layout_; }

  // A frame that nobody wrote yet; it may outlive the pool.
  absl::StatusOr<AvFramePtr> Take() const;
  // A copy of a frame in host memory, of the pool's layout and size, with its times and tags.
  absl::StatusOr<AvFramePtr> Upload(const AVFrame& frame) const;

 private:
  GpuFramePool(AVBufferRef* frames, AVPixelFormat layout) : frames_(frames), layout_(layout) {}

  AVBufferRef* frames_;
  const AVPixelFormat layout_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_GPU_FRAME_POOL_H_
