#include "tf_nvcodec/core/encode/frame_loader.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/buffer.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// The widest alignment that AVX-512 code in the encoders needs, in bytes.
constexpr int kAlignment = 64;

// Returns the format that has the same bytes as the batch's frames, and AV_PIX_FMT_NONE for floats.
AVPixelFormat MemoryFormat(const FrameBatch& frames) {
  const bool bytes = frames.sample_type == SampleType::kUint8;
  const bool words = frames.sample_type == SampleType::kUint16;
  switch (frames.pixel_format) {
    case PixelFormat::kRgb:
      return bytes ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_NONE;
    case PixelFormat::kBgr:
      return bytes ? AV_PIX_FMT_BGR24 : AV_PIX_FMT_NONE;
    case PixelFormat::kGray:
      return bytes ? AV_PIX_FMT_GRAY8 : words ? AV_PIX_FMT_GRAY16 : AV_PIX_FMT_NONE;
    default:
      return RawVideoFormat(frames.pixel_format);
  }
}

// Luma comes first in every packed 8-bit format, so a gray stream can use it in place.
bool IsLumaOf(const StreamSpec& stream, const FrameBatch& frames) {
  return stream.encoder_format == AV_PIX_FMT_GRAY8 && Channels(frames.pixel_format) == 0 &&
         frames.pixel_format != PixelFormat::kP010;
}

bool CanWrap(const FrameBatch& frames, const StreamSpec& stream) {
  if (IsLumaOf(stream, frames)) return true;
  if (MemoryFormat(frames) != stream.encoder_format) return false;
  const bool gray = frames.pixel_format == PixelFormat::kGray;
  return !gray || stream.color_range == ColorRange::kFull;
}

void KeepMemory(void*, uint8_t*) {}

class WrappingLoader : public FrameLoader {
 public:
  WrappingLoader(const FrameBatch& frames, const StreamSpec& stream)
      : FrameLoader(frames, stream) {}

 private:
  absl::StatusOr<AvFramePtr> Fill(int64_t index) override {
    AvFramePtr frame(av_frame_alloc());
    if (frame == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
    // Encoders only read the data, but AVFrame has no const pointers.
    auto* const data = static_cast<uint8_t*>(const_cast<void*>(frames().Frame(index)));
    frame->buf[0] =
        av_buffer_create(data, frames().frame_bytes, KeepMemory, nullptr, AV_BUFFER_FLAG_READONLY);
    if (frame->buf[0] == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
    const int filled =
        av_image_fill_arrays(frame->data, frame->linesize, data, stream().encoder_format,
                             stream().width, stream().height, /*align=*/1);
    if (filled < 0) return FfmpegError(filled, "laying out a frame");
    return frame;
  }
};

}  // namespace

FrameLoader::FrameLoader(const FrameBatch& frames, const StreamSpec& stream)
    : frames_(frames), stream_(stream) {}

absl::StatusOr<std::unique_ptr<FrameLoader>> FrameLoader::Create(const FrameBatch& frames,
                                                                 const StreamSpec& stream) {
  NVC_RETURN_IF_ERROR(frames.Validate());
  if (CanWrap(frames, stream)) return std::make_unique<WrappingLoader>(frames, stream);
  if (Channels(frames.pixel_format) != 0) return NewRgbFrameLoader(frames, stream);
  return NewYuvFrameLoader(frames, stream);
}

absl::StatusOr<AvFramePtr> FrameLoader::NewFrame() {
  const int bytes =
      av_image_get_buffer_size(stream_.encoder_format, stream_.width, stream_.height, kAlignment);
  if (bytes < 0) return FfmpegError(bytes, "sizing a frame");
  // Leaves room for encoders that read whole vectors beyond the last sample.
  if (pool_ == nullptr) pool_.reset(av_buffer_pool_init(bytes + 2 * kAlignment, nullptr));
  AvFramePtr frame(av_frame_alloc());
  if (pool_ == nullptr || frame == nullptr) {
    return absl::ResourceExhaustedError("out of memory for a frame");
  }
  frame->buf[0] = av_buffer_pool_get(pool_.get());
  if (frame->buf[0] == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
  const int filled =
      av_image_fill_arrays(frame->data, frame->linesize, frame->buf[0]->data,
                           stream_.encoder_format, stream_.width, stream_.height, kAlignment);
  if (filled < 0) return FfmpegError(filled, "laying out a frame");
  return frame;
}

absl::StatusOr<AvFramePtr> FrameLoader::Load(int64_t index) {
  NVC_ASSIGN_OR_RETURN(AvFramePtr frame, Fill(index));
  frame->format = stream_.encoder_format;
  frame->width = stream_.width;
  frame->height = stream_.height;
  SetTags(stream_, frame.get());
  return frame;
}

absl::Status FloatsOutOfRange(int64_t index) {
  return absl::InvalidArgumentError(absl::StrCat(
      "float frames must be in [0, 1]; frame ", index,
      " has a sample that is NaN, infinite or far outside (divide by 255 if these are 8-bit "
      "values)"));
}

}  // namespace nvc
