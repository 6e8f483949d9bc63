#include "tf_nvcodec/core/encode/stream_spec.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/color.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Smaller frames need blocks of 16, which the levels for longer sides forbid (H.265, A.4.2).
constexpr int kMinHevcLargeBlock = 32, kMaxHevcSmallBlockSide = 4222;

bool IsPackedYuv(const FrameBatch& frames) { return Channels(frames.pixel_format) == 0; }
bool IsRgb(AVPixelFormat format) {
  return (av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_RGB) != 0;
}
bool IsGray(AVPixelFormat format) { return av_pix_fmt_desc_get(format)->nb_components == 1; }
bool Contains(const std::vector<AVPixelFormat>& formats, AVPixelFormat format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

AVPixelFormat LosslessFormat(const FrameBatch& frames) {
  const bool bytes = frames.sample_type == SampleType::kUint8;
  if (frames.pixel_format == PixelFormat::kGray)
    return bytes ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_GRAY16;
  return bytes ? AV_PIX_FMT_BGR0 : AV_PIX_FMT_GBRP16;
}

AVPixelFormat DefaultFormat(const FrameBatch& frames, EncodeCodec codec,
                            const std::vector<AVPixelFormat>& formats) {
  AVPixelFormat wanted = AV_PIX_FMT_YUV420P;
  if (frames.pixel_format == PixelFormat::kYuv444p) {
    wanted = AV_PIX_FMT_YUV444P;
  } else if (frames.pixel_format == PixelFormat::kP010) {
    wanted = AV_PIX_FMT_YUV420P10;
  } else if (codec == EncodeCodec::kFfv1 && !IsPackedYuv(frames)) {
    wanted = LosslessFormat(frames);
  } else if (frames.sample_type == SampleType::kUint16) {
    wanted = AV_PIX_FMT_YUV420P10;
  }
  return Contains(formats, wanted) ? wanted : AV_PIX_FMT_YUV420P;
}

absl::StatusOr<AVPixelFormat> ChooseFormat(const FrameBatch& frames, const EncodeOptions& options) {
  std::vector<AVPixelFormat> formats;
  if (options.engine == EncodeEngine::kNvenc) {
    formats = NvencStreamFormats(options.codec, frames.pixel_format, frames.ten_high_bits);
  } else {
    NVC_ASSIGN_OR_RETURN(formats, StreamFormats(options.codec));
  }
  if (options.pixel_format.empty()) return DefaultFormat(frames, options.codec, formats);
  const AVPixelFormat format = av_get_pix_fmt(options.pixel_format.c_str());
  if (!Contains(formats, format)) {
    std::string names;
    for (const AVPixelFormat allowed : formats) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", av_get_pix_fmt_name(allowed));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("codec ", TraitsOf(options.codec).name, " can't store pixel_format \"",
                     options.pixel_format, "\"",
                     options.engine == EncodeEngine::kNvenc
                         ? absl::StrCat(" of ", Name(frames.pixel_format), " frames with NVENC")
                         : "",
                     "; it can store: ", names));
  }
  if (IsRgb(format) && IsPackedYuv(frames)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pixel_format ", options.pixel_format, " stores RGB, but frames of input_format ",
        Name(frames.pixel_format), " are not RGB: give rgb frames or a yuv pixel_format"));
  }
  return format;
}

absl::Status CheckSize(const StreamSpec& spec, const EncodeOptions& options) {
  const CodecTraits& traits = TraitsOf(options.codec);
  const int width = spec.width, height = spec.height;
  const SideLimits limits = SideLimitsOf(traits, spec.encoder);
  if (std::min(width, height) < limits.least || width > limits.most_width ||
      height > limits.most_height) {
    return absl::InvalidArgumentError(absl::StrCat(
        "codec ", traits.name, " takes frames from ", limits.least, "x", limits.least, " to ",
        limits.most_width, "x", limits.most_height, " (width x height); got ", width, "x", height,
        std::min(width, height) < limits.least ? ": pad them or use another codec"
                                               : ": resize them or use another codec"));
  }
  if (options.codec == EncodeCodec::kHevc && std::min(width, height) < kMinHevcLargeBlock &&
      std::max(width, height) > kMaxHevcSmallBlockSide) {
    return absl::InvalidArgumentError(absl::StrCat(
        "codec hevc takes frames with one side under ", kMinHevcLargeBlock,
        " pixels only if the other side has at most ", kMaxHevcSmallBlockSide, "; got ", width, "x",
        height, " (width x height): pad them or use another codec"));
  }
  const AVPixFmtDescriptor* const format = av_pix_fmt_desc_get(spec.format);
  const bool odd_width = format->log2_chroma_w == 1 && width % 2 != 0;
  const bool odd_height = format->log2_chroma_h == 1 && height % 2 != 0;
  if (!traits.even_sides || (!odd_width && !odd_height)) return absl::OkStatus();
  const absl::string_view cure =
      options.codec == EncodeCodec::kAv1
          ? "use codec vp9, which stores odd sizes, or"
          : "use pixel_format yuv444p, or codec vp9, which stores odd sizes, or";
  return absl::InvalidArgumentError(absl::StrCat(
      "codec ", traits.name, " can't store ", width, "x", height, " (width x height) as ",
      format->name, ": a ", odd_width ? "width" : "height",
      " with halved chroma must be even, and padding would show in the decoded frames; ", cure,
      " pad or crop the frames"));
}

// Refuses colours that a decoder would not learn from the stream.
absl::Status CheckColors(const FrameBatch& frames, const EncodeOptions& options,
                         const StreamSpec& spec) {
  if (IsRgb(spec.format)) {
    if (spec.color_range == ColorRange::kFull) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("pixel_format ", av_get_pix_fmt_name(spec.format),
                     " stores RGB in full range; got color_range ", Name(spec.color_range)));
  }
  if (options.codec == EncodeCodec::kMjpeg &&
      (spec.color_space != ColorSpace::kBt601 || spec.color_range != ColorRange::kFull)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "codec mjpeg always stores bt601 in full range (JFIF); got ", Name(spec.color_space), ", ",
        Name(spec.color_range),
        IsPackedYuv(frames)
            ? absl::StrCat(": if the ", Name(frames.pixel_format),
                           " frames are full-range bt601, say so with color_space and color_range, "
                           "else give rgb frames")
            : ""));
  }
  if (options.codec == EncodeCodec::kFfv1) {
    const ContainerTraits& container = TraitsOf(options.container);
    const ColorSpace space = ResolveColorSpace(AVCOL_SPC_UNSPECIFIED, spec.width, spec.height);
    const ColorRange range = ResolveColorRange(AVCOL_RANGE_UNSPECIFIED, spec.format);
    const bool lost_matrix =
        !container.keeps_matrix && spec.color_space != space && !IsGray(spec.format);
    if (lost_matrix || (!container.keeps_range && spec.color_range != range)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "codec ffv1 in container ", container.name, " has no tag for ", Name(spec.color_space),
          ", ", Name(spec.color_range), ", so readers would take the colours for ",
          Name(lost_matrix ? space : spec.color_space), ", ", Name(range), ": use container mkv"));
    }
  }
  return absl::OkStatus();
}

void ChooseTags(const FrameBatch& frames, StreamSpec* spec) {
  const AVPixFmtDescriptor* const format = av_pix_fmt_desc_get(spec->format);
  switch (spec->color_space) {
    case ColorSpace::kBt601:
      spec->matrix = AVCOL_SPC_SMPTE170M;
      spec->primaries = AVCOL_PRI_SMPTE170M;
      spec->transfer = AVCOL_TRC_SMPTE170M;
      break;
    case ColorSpace::kBt709:
      spec->matrix = AVCOL_SPC_BT709;
      spec->primaries = AVCOL_PRI_BT709;
      spec->transfer = AVCOL_TRC_BT709;
      break;
    case ColorSpace::kBt2020:
      spec->matrix = AVCOL_SPC_BT2020_NCL;
      spec->primaries = AVCOL_PRI_BT2020;
      spec->transfer = format->comp[0].depth > 10 ? AVCOL_TRC_BT2020_12 : AVCOL_TRC_BT2020_10;
      break;
  }
  if (IsRgb(spec->format)) spec->matrix = AVCOL_SPC_RGB;
  spec->range = spec->color_range == ColorRange::kFull ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  // Chroma made here is the mean of a block, so it lies in the block's centre. The chroma siting of
  // packed 4:2:0 frames is unknown.
  const bool made_here = !IsPackedYuv(frames) || frames.pixel_format == PixelFormat::kYuv444p;
  if (made_here && format->log2_chroma_w == 1 && format->log2_chroma_h == 1) {
    spec->chroma_location = AVCHROMA_LOC_CENTER;
  }
}

}  // namespace

absl::StatusOr<StreamSpec> ChooseStream(const FrameBatch& frames, const EncodeOptions& options) {
  StreamSpec spec;
  spec.width = frames.width;
  spec.height = frames.height;
  const bool nvenc = options.engine == EncodeEngine::kNvenc;
  NVC_ASSIGN_OR_RETURN(
      spec.encoder, nvenc ? FindNvencEncoder(options.codec) : FindSoftwareEncoder(options.codec));
  NVC_ASSIGN_OR_RETURN(spec.format, ChooseFormat(frames, options));
  spec.encoder_format = nvenc ? NvencInputFormat(spec.format) : spec.format;
  if (options.codec == EncodeCodec::kH264 && IsRgb(spec.format)) {
    NVC_ASSIGN_OR_RETURN(spec.encoder, FindEncoder("libx264rgb"));
    spec.encoder_format =
        frames.pixel_format == PixelFormat::kBgr ? AV_PIX_FMT_BGR24 : AV_PIX_FMT_RGB24;
  } else if (frames.pixel_format == PixelFormat::kNv12 && spec.format == AV_PIX_FMT_YUV420P &&
             TakesFormat(spec.encoder, AV_PIX_FMT_NV12)) {
    spec.encoder_format = AV_PIX_FMT_NV12;
  }
  NVC_RETURN_IF_ERROR(CheckSize(spec, options));

  const bool jpeg = options.codec == EncodeCodec::kMjpeg;
  const bool full = IsPackedYuv(frames) ? false : jpeg || IsGray(spec.format) || IsRgb(spec.format);
  spec.color_space = options.color_space.value_or(
      jpeg ? ColorSpace::kBt601
           : ResolveColorSpace(AVCOL_SPC_UNSPECIFIED, spec.width, spec.height));
  spec.color_range = options.color_range.value_or(full ? ColorRange::kFull : ColorRange::kLimited);
  NVC_RETURN_IF_ERROR(CheckColors(frames, options, spec));
  ChooseTags(frames, &spec);
  return spec;
}

void SetTags(const StreamSpec& stream, AVFrame* frame) {
  frame->colorspace = stream.matrix;
  frame->color_primaries = stream.primaries;
  frame->color_trc = stream.transfer;
  frame->color_range = stream.range;
  frame->chroma_location = stream.chroma_location;
}

}  // namespace nvc
