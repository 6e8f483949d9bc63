#include "tf_nvcodec/core/encode/encode_options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"

namespace nvc {
namespace {

constexpr int kMaxGop = 1000000;
constexpr int kMaxThreads = 64;

absl::Status CheckRate(const EncodeOptions& options, const CodecTraits& traits) {
  if (options.quality.has_value()) {
    const double quality = *options.quality;
    if (!traits.has_quality) {
      return absl::InvalidArgumentError(
          absl::StrCat("codec ", traits.name, " is lossless and takes no crf; got ", quality));
    }
    const bool whole = !traits.whole_quality || quality == std::floor(quality);
    if (!(quality >= traits.min_quality && quality <= traits.max_quality) || !whole) {
      return absl::InvalidArgumentError(absl::StrCat(
          "crf of codec ", traits.name, " must be ", traits.whole_quality ? "a whole number " : "",
          "from ", traits.min_quality, " (best) to ", traits.max_quality, "; got ", quality));
    }
    if (options.bitrate != 0) {
      return absl::InvalidArgumentError(absl::StrCat("crf and bitrate exclude each other; got crf ",
                                                     quality, " and bitrate ", options.bitrate,
                                                     ": give one of them"));
    }
  }
  if (options.bitrate == 0) return absl::OkStatus();
  if (!traits.has_bitrate) {
    return absl::InvalidArgumentError(absl::StrCat(
        "codec ", traits.name, " is lossless and takes no bitrate; got ", options.bitrate));
  }
  if (options.bitrate < 1000 || options.bitrate > traits.max_bitrate) {
    return absl::InvalidArgumentError(absl::StrCat("bitrate of codec ", traits.name,
                                                   " must be from 1000 to ", traits.max_bitrate,
                                                   " bits per second; got ", options.bitrate));
  }
  return absl::OkStatus();
}

absl::Status CheckPictureTypes(const EncodeOptions& options, const CodecTraits& traits) {
  const int gop = options.gop;
  if (gop != 0 && (gop < 1 || gop > kMaxGop)) {
    return absl::InvalidArgumentError(
        absl::StrCat("gop must be from 1 to ", kMaxGop, " frames; got ", gop));
  }
  if (gop > 1 && traits.intra_only) {
    return absl::InvalidArgumentError(absl::StrCat("every frame of codec ", traits.name,
                                                   " is a key frame: gop must be 1; got ", gop));
  }
  if (gop == 1 && options.codec == EncodeCodec::kAv1 && options.bitrate != 0 &&
      options.engine == EncodeEngine::kCpu) {
    return absl::InvalidArgumentError(
        "codec av1 makes every frame a key frame by crf only: gop 1 and bitrate exclude each "
        "other");
  }
  const int bf = options.max_b_frames;
  if (bf < -1 || bf > traits.max_b_frames) {
    return absl::InvalidArgumentError(
        traits.max_b_frames == 0
            ? absl::StrCat("codec ", traits.name, " has no B-frames: bf must be 0; got ", bf)
            : absl::StrCat("bf of codec ", traits.name, " must be from 0 to ", traits.max_b_frames,
                           "; got ", bf));
  }
  if (bf > 0 && options.container == EncodeContainer::kAvi) {
    return absl::InvalidArgumentError(
        absl::StrCat("container avi stores frames in the order they are shown, so bf must be 0; "
                     "got ",
                     bf, " (use container mp4 or mkv)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EncodeOptions::Validate() const {
  const CodecTraits& traits = TraitsOf(codec);
  const ContainerTraits& holder = TraitsOf(container);
  NVC_RETURN_IF_ERROR(CheckContainer(container, codec));
  NVC_RETURN_IF_ERROR(CheckRate(*this, traits));
  NVC_RETURN_IF_ERROR(CheckPictureTypes(*this, traits));
  if (engine == EncodeEngine::kNvenc) NVC_RETURN_IF_ERROR(FindNvencEncoder(codec).status());
  const bool known =
      preset.empty() ||
      std::find(traits.presets.begin(), traits.presets.end(), preset) != traits.presets.end() ||
      (engine == EncodeEngine::kNvenc && !NvencPreset(codec, preset).empty());
  if (!known) {
    return absl::InvalidArgumentError(
        traits.presets.empty()
            ? absl::StrCat("codec ", traits.name, " has no presets; got preset \"", preset, "\"")
            : absl::StrCat("preset of codec ", traits.name, " must be one of ",
                           absl::StrJoin(traits.presets, ", "),
                           engine == EncodeEngine::kNvenc ? ", p1 to p7" : "", "; got \"", preset,
                           "\""));
  }
  if (num_threads < 0 || num_threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads must be from 0 (chosen for the machine) to ", kMaxThreads,
                     "; got ", num_threads));
  }
  if (fragmented && !holder.is_mp4_like) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fragmented needs container mp4 or mov; container ", holder.name, " has no fragments"));
  }
  return absl::OkStatus();
}

}  // namespace nvc
