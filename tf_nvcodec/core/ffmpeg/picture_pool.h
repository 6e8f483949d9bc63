// Allocates the memory of one decoder's pictures from blocks that earlier decoders left.
#ifndef TF_NVCODEC_CORE_FFMPEG_PICTURE_POOL_H_
#define TF_NVCODEC_CORE_FFMPEG_PICTURE_POOL_H_

#include <array>
#include <cstddef>
#include <mutex>

#include "tf_nvcodec/core/base/block_cache.h"
#include "tf_nvcodec/core/ffmpeg/unwritten_marks.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// Lays pictures out as FFmpeg's own pools do. Like those, it gives a decoder memory that is zero or
// that holds what the same decoder left there. So a damaged stream never shows the pictures of
// another stream.
class PicturePool {
 public:
  // With `marks`, HasUnwritten can tell which pictures are not complete.
  explicit PicturePool(BlockCache* cache, bool marks = false) : cache_(cache), marks_(marks) {}
  // Pictures still in use keep their memory.
  ~PicturePool() { av_buffer_pool_uninit(&pool_); }
  PicturePool(const PicturePool&) = delete;
  PicturePool& operator=(const PicturePool&) = delete;

  // An implementation of AVCodecContext::get_buffer2. Thread-safe.
  int GetBuffer(AVCodecContext* context, AVFrame* frame);

  // Whether the decoder has left out a part of a picture in memory of a pool with marks.
  static bool HasUnwritten(const AVFrame& frame);

 private:
  struct Layout {
    int format = AV_PIX_FMT_NONE;
    int width = 0, height = 0;
    std::array<MarkedPlane, 4> marked;  // without their places in memory
    int linesizes[4];
    size_t offsets[4], sizes[4];  // of the planes
    size_t bytes = 0;
  };

  int Prepare(AVCodecContext* context, const AVFrame& frame);

  BlockCache* const cache_;
  const bool marks_;
  std::mutex mutex_;
  Layout layout_;
  AVBufferPool* pool_ = nullptr;  // buffers of this layout
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_PICTURE_POOL_H_
