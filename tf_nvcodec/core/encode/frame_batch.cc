#include "tf_nvcodec/core/encode/frame_batch.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

constexpr int kMaxFrameSide = 65500;
// FFmpeg can address this many pixels in its widest format, so no size computed from it overflows.
constexpr int64_t kMaxPixels = INT32_MAX / 16;

}  // namespace

AVPixelFormat RawVideoFormat(PixelFormat format) {
  switch (format) {
    case PixelFormat::kNv12:
      return AV_PIX_FMT_NV12;
    case PixelFormat::kYuv420p:
      return AV_PIX_FMT_YUV420P;
    case PixelFormat::kYuv444p:
      return AV_PIX_FMT_YUV444P;
    case PixelFormat::kP010:
      return AV_PIX_FMT_P010LE;
    default:
      return AV_PIX_FMT_NONE;
  }
}

absl::StatusOr<size_t> FrameBytes(PixelFormat pixel_format, SampleType sample_type, int height,
                                  int width) {
  if (pixel_format == PixelFormat::kNative) {
    return absl::InvalidArgumentError(
        "input_format native does not say how the frames are laid out; give their layout: rgb, "
        "bgr, gray, nv12, yuv420p, yuv444p or p010");
  }
  if (height <= 0 || width <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames must have a positive height and width; got ", height, "x", width));
  }
  if (static_cast<int64_t>(height) * width > kMaxPixels || height > kMaxFrameSide ||
      width > kMaxFrameSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of ", height, "x", width, " (height x width) are too large: at most ",
                     kMaxFrameSide, " on a side and ", kMaxPixels, " pixels"));
  }
  if (Channels(pixel_format) != 0) {
    return static_cast<size_t>(height) * width * Channels(pixel_format) * SampleSize(sample_type);
  }
  if (sample_type != SampleType::kUint8) {
    return absl::InvalidArgumentError(absl::StrCat("frames of input_format ", Name(pixel_format),
                                                   " are packed bytes, dtype uint8; got ",
                                                   Name(sample_type)));
  }
  const int bytes = av_image_get_buffer_size(RawVideoFormat(pixel_format), width, height, 1);
  if (bytes < 0) return FfmpegError(bytes, "sizing a packed frame");
  return static_cast<size_t>(bytes);
}

absl::Status FrameBatch::Validate() const {
  if (count < 1) return absl::InvalidArgumentError("frames must hold at least one frame; got none");
  NVC_ASSIGN_OR_RETURN(const size_t expected, FrameBytes(pixel_format, sample_type, height, width));
  if (frame_bytes != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of input_format ", Name(pixel_format), " and size ", height, "x",
                     width, " (height x width) have ", expected, " bytes each; got ", frame_bytes));
  }
  return absl::OkStatus();
}

}  // namespace nvc
