#include "tf_nvcodec/core/encode/session_input.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

struct Named {
  const char* name;
  InputFormat format;
};

constexpr Named kNames[] = {
    {"NV12", InputFormat::kNv12},
    {"YUV420", InputFormat::kYuv420},
    {"IYUV", InputFormat::kYuv420},
    {"YUV444", InputFormat::kYuv444},
    {"P010", InputFormat::kP010},
    {"YUV420_10BIT", InputFormat::kP010},
    {"YUV444_16BIT", InputFormat::kYuv444Wide},
    {"YUV444_10BIT", InputFormat::kYuv444Wide},
    {"ARGB", InputFormat::kArgb},
    {"ABGR", InputFormat::kAbgr},
};

PixelFormat CoreFormat(InputFormat format) {
  switch (format) {
    case InputFormat::kNv12:
      return PixelFormat::kNv12;
    case InputFormat::kYuv420:
      return PixelFormat::kYuv420p;
    case InputFormat::kYuv444:
    case InputFormat::kYuv444Wide:
      return PixelFormat::kYuv444p;
    case InputFormat::kP010:
      return PixelFormat::kP010;
    case InputFormat::kArgb:
      return PixelFormat::kBgr;
    case InputFormat::kAbgr:
      return PixelFormat::kRgb;
  }
  return PixelFormat::kNv12;
}

// The number of low bits in a 16-bit word that don't count.
constexpr int kWideShift = 6;

}  // namespace

absl::StatusOr<InputFormat> ParseInputFormat(absl::string_view name) {
  const std::string wanted = absl::AsciiStrToUpper(name);
  std::string allowed;
  for (const Named& named : kNames) {
    if (wanted == named.name) return named.format;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", named.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("format must be one of ", allowed, "; got \"", name, "\""));
}

bool IsRgb(InputFormat format) {
  return format == InputFormat::kArgb || format == InputFormat::kAbgr;
}

absl::StatusOr<FrameBatch> DescribeInput(InputFormat format, int width, int height) {
  FrameBatch shape;
  shape.count = 1;
  shape.width = width;
  shape.height = height;
  shape.pixel_format = CoreFormat(format);
  shape.ten_high_bits = format == InputFormat::kYuv444Wide;
  NVC_ASSIGN_OR_RETURN(shape.frame_bytes,
                       FrameBytes(shape.pixel_format, shape.sample_type, height, width));
  return shape;
}

const char* StreamFormatName(InputFormat format) {
  switch (format) {
    case InputFormat::kYuv444:
      return "yuv444p";
    case InputFormat::kYuv444Wide:
      return "yuv444p10le";
    case InputFormat::kP010:
      return "yuv420p10le";
    default:
      return "yuv420p";
  }
}

SessionInput::SessionInput(InputFormat format, const FrameBatch& shape, const StreamSpec& stream)
    : format_(format), shape_(shape), stream_(stream) {}

size_t SessionInput::frame_bytes() const {
  if (format_ == InputFormat::kYuv444Wide) return shape_.frame_bytes * 2;
  return IsRgb(format_) ? shape_.frame_bytes / 3 * 4 : shape_.frame_bytes;
}

absl::StatusOr<AvFramePtr> SessionInput::Load(const void* data, size_t size) {
  if (data == nullptr || size != frame_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", stream_.width, "x", stream_.height, " (width x height) has ",
                     frame_bytes(), " bytes in this format; got ", data == nullptr ? 0 : size));
  }
  const auto* const bytes = static_cast<const uint8_t*>(data);
  if (format_ == InputFormat::kYuv444Wide) return LoadWide(bytes);
  shape_.data = IsRgb(format_) ? WithoutAlpha(bytes) : data;
  NVC_ASSIGN_OR_RETURN(const std::unique_ptr<FrameLoader> loader,
                       FrameLoader::Create(shape_, stream_));
  NVC_ASSIGN_OR_RETURN(AvFramePtr frame, loader->Load(0));
  // A frame that refers to the caller's memory is read-only, but encoders keep frames for a long
  // time. So this copies it.
  const int copied = av_frame_make_writable(frame.get());
  if (copied < 0) return FfmpegError(copied, "copying a frame");
  return frame;
}

absl::StatusOr<AvFramePtr> SessionInput::LoadWide(const uint8_t* data) {
  AvFramePtr frame(av_frame_alloc());
  if (frame == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
  frame->format = stream_.encoder_format;
  frame->width = stream_.width;
  frame->height = stream_.height;
  const int allocated = av_frame_get_buffer(frame.get(), 0);
  if (allocated < 0) return FfmpegError(allocated, "allocating a frame");
  SetTags(stream_, frame.get());
  const size_t row_bytes = static_cast<size_t>(stream_.width) * sizeof(uint16_t);
  // NVENC takes the ten bits at the top too.
  const int shift = stream_.encoder_format == AV_PIX_FMT_YUV444P16 ? 0 : kWideShift;
  for (int plane = 0; plane < 3; ++plane) {
    for (int y = 0; y < stream_.height; ++y) {
      uint8_t* const out = frame->data[plane] + static_cast<ptrdiff_t>(y) * frame->linesize[plane];
      for (int x = 0; x < stream_.width; ++x) {
        uint16_t word;  // copied, because the caller's memory may not be aligned
        std::memcpy(&word, data + x * sizeof(word), sizeof(word));
        word = static_cast<uint16_t>(word >> shift);
        std::memcpy(out + x * sizeof(word), &word, sizeof(word));
      }
      data += row_bytes;
    }
  }
  return frame;
}

const void* SessionInput::WithoutAlpha(const uint8_t* data) {
  const size_t pixels = static_cast<size_t>(stream_.width) * stream_.height;
  colors_.resize(pixels * 3);
  for (size_t i = 0; i < pixels; ++i) {
    colors_[3 * i] = data[4 * i];
    colors_[3 * i + 1] = data[4 * i + 1];
    colors_[3 * i + 2] = data[4 * i + 2];
  }
  return colors_.data();
}

}  // namespace nvc
