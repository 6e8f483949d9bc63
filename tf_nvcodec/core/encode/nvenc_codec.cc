#include "tf_nvcodec/core/encode/nvenc_codec.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

const char* EncoderName(EncodeCodec codec) {
  switch (codec) {
    case EncodeCodec::kH264:
      return "h264_nvenc";
    case EncodeCodec::kHevc:
      return "hevc_nvenc";
    case EncodeCodec::kAv1:
      return "av1_nvenc";
    default:
      return nullptr;
  }
}

// x264's and x265's presets, from the fastest on.
constexpr std::pair<absl::string_view, const char*> kX26xPresets[] = {
    {"ultrafast", "p1"}, {"superfast", "p1"}, {"veryfast", "p2"}, {"faster", "p3"},
    {"fast", "p3"},      {"medium", "p4"},    {"slow", "p5"},     {"slower", "p6"},
    {"veryslow", "p7"},  {"placebo", "p7"},
};
// SVT-AV1's 0 (slowest) to 13.
constexpr const char* kSvtAv1Presets[] = {"p7", "p7", "p6", "p6", "p5", "p5", "p4",
                                          "p4", "p3", "p2", "p2", "p1", "p1", "p1"};

}  // namespace

absl::StatusOr<const AVCodec*> FindNvencEncoder(EncodeCodec codec) {
  const char* const name = EncoderName(codec);
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

}  // namespace nvc
