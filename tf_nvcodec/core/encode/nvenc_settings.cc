#include "tf_nvcodec/core/encode/nvenc_settings.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/codec_settings.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

// Presets of x264 and x265, the fastest first.
constexpr std::pair<absl::string_view, const char*> kX26xPresets[] = {
    {"ultrafast", "p1"}, {"superfast", "p1"}, {"veryfast", "p2"}, {"faster", "p3"},
    {"fast", "p3"},      {"medium", "p4"},    {"slow", "p5"},     {"slower", "p6"},
    {"veryslow", "p7"},  {"placebo", "p7"},
};
// Presets of SVT-AV1, from 0 (slowest) to 13.
constexpr const char* kSvtAv1Presets[] = {"p7", "p7", "p6", "p6", "p5", "p5", "p4",
                                          "p4", "p3", "p2", "p2", "p1", "p1", "p1"};

}  // namespace

absl::StatusOr<const AVCodec*> FindNvencEncoder(EncodeCodec codec) {
  const char* const name = TraitsOf(codec).encoding->nvenc_encoder;
  if (name == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("NVENC encodes h264, hevc and av1, not ", TraitsOf(codec).name));
  }
  return FindEncoder(name);
}

std::vector<AVPixelFormat> NvencStreamFormats(EncodeCodec codec, PixelFormat input,
                                              bool ten_high_bits) {
  std::vector<AVPixelFormat> formats = {AV_PIX_FMT_YUV420P};
  if (codec != EncodeCodec::kAv1) formats.push_back(AV_PIX_FMT_YUV444P);
  if (codec != EncodeCodec::kH264 && input == PixelFormat::kP010) {
    formats.push_back(AV_PIX_FMT_YUV420P10);
  }
  if (codec == EncodeCodec::kHevc && ten_high_bits) formats.push_back(AV_PIX_FMT_YUV444P10);
  return formats;
}

AVPixelFormat NvencInputFormat(AVPixelFormat format) {
  if (format == AV_PIX_FMT_YUV444P10) return AV_PIX_FMT_YUV444P16;
  return format == AV_PIX_FMT_YUV420P10 ? AV_PIX_FMT_P010 : format;
}

std::string NvencPreset(EncodeCodec codec, absl::string_view preset) {
  if (preset.size() == 2 && preset[0] == 'p' && preset[1] >= '1' && preset[1] <= '7') {
    return std::string(preset);
  }
  if (codec == EncodeCodec::kAv1) {
    for (size_t i = 0; i < std::size(kSvtAv1Presets); ++i) {
      if (preset == absl::StrCat(i)) return kSvtAv1Presets[i];
    }
    return "";
  }
  for (const auto& [name, nvenc] : kX26xPresets) {
    if (preset == name) return nvenc;
  }
  return "";
}

namespace {

// Options that an argument of the API sets, besides those in codec_settings.cc.
constexpr std::pair<absl::string_view, absl::string_view> kNvencArguments[] = {
    {"cq", "crf"},
    {"gpu", "backend"},
    {"cbr", "options[\"rc\"]"},
};

bool HasOption(const AVCodec* encoder, const std::string& name, const char* unit) {
  const AVClass* own = encoder->priv_class;
  return own != nullptr && av_opt_find(&own, name.c_str(), unit, 0, AV_OPT_SEARCH_FAKE_OBJ);
}

// Checks that this libavcodec knows `option` of the encoder and its named value `value`.
absl::Status CheckNamed(const AVCodec* encoder, const std::string& option,
                        const std::string& value) {
  if (HasOption(encoder, option, nullptr) && HasOption(encoder, value, option.c_str())) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("this machine's libavcodec has no ", option, " ", value, " for ", encoder->name,
                   ", which FFmpeg 5 and later have; use backend=\"cpu\""));
}

absl::Status CheckOption(const AVCodec* encoder, const EncodeOptions& options,
                         const std::string& name) {
  for (const auto& [option, argument] : kNvencArguments) {
    if (name != option) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("options[\"", name, "\"] sets the same as ", argument, "; give that instead"));
  }
  if (name == "rc" && options.bitrate == 0) {
    return absl::InvalidArgumentError(
        "options[\"rc\"] chooses how the encoder keeps to a bitrate, but no bitrate is given: give "
        "bitrate, or leave out rc");
  }
  return CheckCodecOption(encoder, TraitsOf(options.codec).name, name);
}

}  // namespace

int NvencBFrames(const EncodeOptions& options) {
  if (options.container == EncodeContainer::kAvi || options.gop == 1) return 0;
  if (options.max_b_frames >= 0) return options.max_b_frames;
  // All GPUs encode B-frames in H.264, but not all in HEVC.
  return options.codec == EncodeCodec::kH264 ? 2 : 0;
}

absl::StatusOr<CodecOptions> MakeNvencSettings(const AVCodec* encoder,
                                               const EncodeOptions& options) {
  const CodecTraits& traits = TraitsOf(options.codec);
  const std::string preset =
      options.preset.empty() ? "p4" : NvencPreset(options.codec, options.preset);
  NVC_RETURN_IF_ERROR(CheckNamed(encoder, "preset", preset));
  CodecOptions settings = {{"preset", preset}};
  double quality = options.quality.value_or(traits.default_quality);
  // The defaults of x264 and x265. Their traits don't name a number.
  if (quality < 0) quality = options.codec == EncodeCodec::kH264 ? 23 : 28;
  if (options.bitrate == 0 && options.codec == EncodeCodec::kH264 && quality == 0) {
    NVC_RETURN_IF_ERROR(CheckNamed(encoder, "tune", "lossless"));
    settings.emplace_back("tune", "lossless");
  } else {
    NVC_RETURN_IF_ERROR(CheckNamed(encoder, "rc", "vbr"));
    settings.emplace_back("rc", "vbr");
    // A quality of 0 would let the driver choose.
    if (options.bitrate == 0) {
      settings.emplace_back("cq", absl::StrCat(std::max(quality, 1.0)));
    }
  }
  for (const auto& [name, value] : options.codec_options) {
    NVC_RETURN_IF_ERROR(CheckOption(encoder, options, name));
    settings.emplace_back(name, value);
  }
  return settings;
}

}  // namespace nvc
