#include "tf_nvcodec/core/encode/encode_codec.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

std::vector<std::string> X26xPresets() {
  return {"ultrafast", "superfast", "veryfast", "faster",   "fast",
          "medium",    "slow",      "slower",   "veryslow", "placebo"};
}

std::vector<std::string> NumberedPresets(int last) {
  std::vector<std::string> presets;
  for (int i = 0; i <= last; ++i) presets.push_back(absl::StrCat(i));
  return presets;
}

CodecTraits TraitsWithFacts(EncodeCodec codec, AVCodecID id) {
  const CodecFacts& facts = FactsOf(id);
  return {codec, id, facts.name, &facts.encoding};
}

// Sizes, rates and scales are the limits that the encoders enforce: x264 r3095, x265 3.5,
// SVT-AV1 1.4, libvpx 1.12 and FFmpeg 5.1. JPEG stores each side in 16 bits.
std::vector<CodecTraits> MakeTraits() {
  std::vector<CodecTraits> all;

  CodecTraits h264 = TraitsWithFacts(EncodeCodec::kH264, AV_CODEC_ID_H264);
  h264.even_sides = true;
  h264.max_b_frames = 16;
  h264.presets = X26xPresets();
  all.push_back(h264);

  CodecTraits hevc = TraitsWithFacts(EncodeCodec::kHevc, AV_CODEC_ID_HEVC);
  hevc.even_sides = true;
  hevc.max_b_frames = 16;
  hevc.min_side = 16;
  hevc.presets = X26xPresets();
  all.push_back(hevc);

  CodecTraits av1 = TraitsWithFacts(EncodeCodec::kAv1, AV_CODEC_ID_AV1);
  av1.min_quality = 1;
  av1.max_quality = 63;
  av1.default_quality = 35;
  av1.whole_quality = true;
  av1.max_bitrate = 100000000;
  av1.even_sides = true;
  av1.min_side = 64;
  av1.max_height = 8704;
  av1.min_fps = 1;
  av1.max_fps = 240;
  av1.presets = NumberedPresets(13);
  all.push_back(av1);

  CodecTraits vp9 = TraitsWithFacts(EncodeCodec::kVp9, AV_CODEC_ID_VP9);
  vp9.max_quality = 63;
  vp9.default_quality = 31;
  vp9.whole_quality = true;
  vp9.presets = NumberedPresets(8);
  vp9.preset_option = "cpu-used";
  all.push_back(vp9);

  CodecTraits mjpeg = TraitsWithFacts(EncodeCodec::kMjpeg, AV_CODEC_ID_MJPEG);
  mjpeg.min_quality = 1;
  mjpeg.max_quality = 31;
  mjpeg.default_quality = 3;
  mjpeg.whole_quality = true;
  mjpeg.intra_only = true;
  mjpeg.max_width = mjpeg.max_height = 65500;
  all.push_back(mjpeg);

  CodecTraits ffv1 = TraitsWithFacts(EncodeCodec::kFfv1, AV_CODEC_ID_FFV1);
  ffv1.has_quality = ffv1.has_bitrate = false;
  ffv1.default_gop = 1;  // every frame can be decoded on its own
  ffv1.max_width = ffv1.max_height = 65500;
  all.push_back(ffv1);
  return all;
}

const std::vector<CodecTraits>& AllTraits() {
  static const auto* const all = new std::vector<CodecTraits>(MakeTraits());
  return *all;
}

// The formats that our converters write, in the order of error messages.
constexpr AVPixelFormat kWritable[] = {
    AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV420P10,
    AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12,
    AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY12,
    AV_PIX_FMT_GRAY16,    AV_PIX_FMT_GBRP,      AV_PIX_FMT_GBRP10,    AV_PIX_FMT_GBRP12,
    AV_PIX_FMT_GBRP16,    AV_PIX_FMT_BGR0,
};

}  // namespace

absl::StatusOr<EncodeCodec> ParseEncodeCodec(absl::string_view name) {
  std::string allowed;
  for (const CodecTraits& traits : AllTraits()) {
    if (name == traits.name) return traits.codec;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", traits.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("codec must be one of ", allowed, "; got \"", name, "\""));
}

const CodecTraits& TraitsOf(EncodeCodec codec) { return AllTraits()[static_cast<int>(codec)]; }

absl::StatusOr<const AVCodec*> FindEncoder(const char* encoder) {
  const AVCodec* const codec = avcodec_find_encoder_by_name(encoder);
  if (codec == nullptr) {
    const bool inside = FfmpegIsInside();
    return absl::UnimplementedError(absl::StrCat(
        inside ? "the FFmpeg in this wheel" : "this machine's FFmpeg (libavcodec)",
        " is built without the encoder ", encoder, "; install ",
        inside ? "a wheel that has it (portable-gpl has x264 and x265)" : "one that has it",
        ", or choose another codec"));
  }
  return codec;
}

absl::StatusOr<const AVCodec*> FindSoftwareEncoder(EncodeCodec codec) {
  const Encoding& encoding = *TraitsOf(codec).encoding;
  if (encoding.stand_in != nullptr && avcodec_find_encoder_by_name(encoding.encoder) == nullptr) {
    const AVCodec* const stand_in = avcodec_find_encoder_by_name(encoding.stand_in);
    if (stand_in != nullptr) return stand_in;
  }
  return FindEncoder(encoding.encoder);
}

bool IsOpenH264(const AVCodec* encoder) { return std::strcmp(encoder->name, "libopenh264") == 0; }

SideLimits SideLimitsOf(const CodecTraits& traits, const AVCodec* encoder) {
  // Its largest picture has 36,864 macroblocks, as 4096x2304.
  if (IsOpenH264(encoder)) return {16, 4096, 4096};
  return {traits.min_side, traits.max_width, traits.max_height};
}

absl::Status CheckEncoderOptions(const char* encoder,
                                 const std::vector<std::pair<std::string, std::string>>& options) {
  NVC_ASSIGN_OR_RETURN(const AVCodec* const codec, FindEncoder(encoder));
  const AvCodecContextPtr context(avcodec_alloc_context3(codec));
  if (context == nullptr) return absl::ResourceExhaustedError("out of memory for an encoder");
  for (const auto& [name, value] : options) {
    AvLogScope log;
    const int set = av_opt_set(context.get(), name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
    if (set == AVERROR_OPTION_NOT_FOUND) {
      return absl::InvalidArgumentError(absl::StrCat(encoder, " has no option \"", name, "\""));
    }
    if (set < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          encoder, "'s option \"", name, "\" does not take \"", value, "\"", log.Detail()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AVPixelFormat>> StreamFormats(EncodeCodec codec) {
  NVC_ASSIGN_OR_RETURN(const AVCodec* const encoder, FindSoftwareEncoder(codec));
  std::vector<AVPixelFormat> formats;
  for (const AVPixelFormat writable : kWritable) {
    // FFmpeg has a separate encoder for x264's RGB.
    const bool x264_rgb = codec == EncodeCodec::kH264 && writable == AV_PIX_FMT_GBRP &&
                          avcodec_find_encoder_by_name("libx264rgb") != nullptr;
    if (TakesFormat(encoder, writable) || x264_rgb) formats.push_back(writable);
  }
  return formats;
}

}  // namespace nvc
