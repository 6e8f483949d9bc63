#include "tf_nvcodec/core/ffmpeg/picture_pool.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <utility>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

constexpr size_t kAlignment = 64;  // of every plane
// The bytes after every plane, as in FFmpeg: decoders read a little beyond a plane, and some write
// there.
constexpr size_t kPadding = 16 + kAlignment - 1;

struct CachedBlock {
  BlockCache* cache;
  Block block;
  std::array<MarkedPlane, 4> marked = {};  // empty where there are no marks
};

void GiveBack(void* opaque, uint8_t*) {
  auto* const cached = static_cast<CachedBlock*>(opaque);
  cached->cache->Give(std::move(cached->block));
  delete cached;
}

AVBufferRef* TakeBlock(void* opaque, size_t bytes) {
  auto* const cache = static_cast<BlockCache*>(opaque);
  Block block = cache->Take(bytes);
  if (block == nullptr) return nullptr;
  auto* const cached = new CachedBlock{cache, std::move(block)};
  AVBufferRef* const buffer = av_buffer_create(cached->block.get(), bytes, GiveBack, cached, 0);
  if (buffer == nullptr) GiveBack(cached, nullptr);
  return buffer;
}

}  // namespace

int PicturePool::Prepare(AVCodecContext* context, const AVFrame& frame) {
  if (pool_ != nullptr && layout_.format == frame.format && layout_.width == frame.width &&
      layout_.height == frame.height) {
    return 0;
  }
  const auto format = static_cast<AVPixelFormat>(frame.format);
  Layout layout;
  layout.format = frame.format;
  const AVPixFmtDescriptor* const description = av_pix_fmt_desc_get(format);
  for (int i = 0; description != nullptr && i < description->nb_components; ++i) {
    const AVComponentDescriptor& component = description->comp[i];
    const bool is_chroma = i == 1 || i == 2;
    MarkedPlane& plane = layout.marked[static_cast<size_t>(component.plane)];
    plane.sample_bytes = component.step;
    plane.width = AV_CEIL_RSHIFT(frame.width, is_chroma ? description->log2_chroma_w : 0);
    plane.height = AV_CEIL_RSHIFT(frame.height, is_chroma ? description->log2_chroma_h : 0);
  }
  int width = layout.width = frame.width;
  int height = layout.height = frame.height;
  int alignments[AV_NUM_DATA_POINTERS];
  avcodec_align_dimensions2(context, &width, &height, alignments);
  // Increases the width until the lines of all planes are aligned. The planes can't be aligned one
  // by one, because decoders rely on the ratio of their line sizes.
  for (bool aligned = false; !aligned; width += width & -width) {
    const int error = av_image_fill_linesizes(layout.linesizes, format, width);
    if (error < 0) return error;
    aligned = true;
    for (int i = 0; i < 4; ++i) aligned &= layout.linesizes[i] % alignments[i] == 0;
  }
  ptrdiff_t strides[4];
  for (int i = 0; i < 4; ++i) strides[i] = layout.linesizes[i];
  const int error = av_image_fill_plane_sizes(layout.sizes, format, height, strides);
  if (error < 0) return error;
  for (int i = 0; i < 4; ++i) {
    layout.offsets[i] = layout.bytes;
    if (layout.sizes[i] > INT_MAX - kPadding) return AVERROR(EINVAL);
    if (layout.sizes[i] == 0) continue;
    layout.bytes += (layout.sizes[i] + kPadding + kAlignment - 1) / kAlignment * kAlignment;
  }
  AVBufferPool* const pool = av_buffer_pool_init2(layout.bytes, cache_, TakeBlock, nullptr);
  if (pool == nullptr) return AVERROR(ENOMEM);
  av_buffer_pool_uninit(&pool_);
  pool_ = pool;
  layout_ = layout;
  return 0;
}

int PicturePool::GetBuffer(AVCodecContext* context, AVFrame* frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int error = Prepare(context, *frame);
  if (error < 0) return error;
  AVBufferRef* const buffer = av_buffer_pool_get(pool_);
  if (buffer == nullptr) return AVERROR(ENOMEM);
  frame->buf[0] = buffer;
  for (int i = 0; i < 4; ++i) {
    if (layout_.sizes[i] == 0) continue;
    frame->data[i] = buffer->data + layout_.offsets[i];
    frame->linesize[i] = layout_.linesizes[i];
  }
  frame->extended_data = frame->data;
  if (marks_) {
    auto* const cached = static_cast<CachedBlock*>(av_buffer_pool_buffer_get_opaque(buffer));
    cached->marked = layout_.marked;
    for (size_t i = 0; i < cached->marked.size(); ++i) {
      MarkedPlane& plane = cached->marked[i];
      plane.data = frame->data[i];
      plane.linesize = frame->linesize[i];
      WriteMarks(plane);
    }
  }
  return 0;
}

bool PicturePool::HasUnwritten(const AVFrame& frame) {
  const auto& marked =
      static_cast<CachedBlock*>(av_buffer_pool_buffer_get_opaque(frame.buf[0]))->marked;
  return std::any_of(marked.begin(), marked.end(), HasMarks);
}

}  // namespace nvc
