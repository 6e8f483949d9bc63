#include "tf_nvcodec/core/encode/codec_settings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/dict.h>
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

// Generic FFmpeg options that callers may set, because nothing in the op depends on them.
constexpr absl::string_view kGenericOptions =
    "qmin qmax qdiff qcomp qblur maxrate minrate bufsize profile level slices refs me_range subq "
    "trellis i_qfactor b_qfactor keyint_min rc_init_occupancy color_trc color_primaries sar "
    "thread_type strict mblmin mblmax nr cmp subcmp context";

// Those of the generic options that only describe the stream. All encoders take them alike.
constexpr absl::string_view kTags[] = {"color_trc", "color_primaries", "sar"};

// Options that an argument of the API sets.
constexpr std::pair<absl::string_view, absl::string_view> kArguments[] = {
    {"b", "bitrate"},
    {"g", "gop"},
    {"bf", "bf"},
    {"crf", "crf"},
    {"qp", "crf"},
    {"preset", "preset"},
    {"cpu-used", "preset"},
    {"speed", "preset"},
    {"global_quality", "crf"},
    {"threads", "num_threads"},
    {"pix_fmt", "pixel_format"},
    {"pixel_format", "pixel_format"},
    {"colorspace", "color_space"},
    {"color_range", "color_range"},
    {"time_base", "fps or pts"},
};

// Keys in x264-params and similar options that callers may not set. They would describe other
// frames than the encoder gets, or another byte format than the muxer expects.
constexpr absl::string_view kForbiddenParams[] = {
    "input-res", "input-csp", "input-depth", "annexb", "pass", "width", "height", "repeat-headers"};

// x265 before 4.0 writes beyond its look-ahead's buffers if these are less than four blocks of 16
// pixels wide (mbtree_propagate_cost in its AVX code).
constexpr int kMinCuTreeWidth = 49;

// Number of frames that x265 codes at once; its thread pool shares their rows. With more than one,
// x265 can hang forever at the end of a stream: the thread of a last frame checks whether more
// frames come, and misses the call that wakes it if none come before it sleeps. x265 3.5 does this;
// see its issue 540.
constexpr int kX265FrameThreads = 1;

// The default crf of x264.
constexpr double kOpenH264Quality = 23;

// The default of x264 and x265.
constexpr int kNvencGop = 250;

struct DictionaryDeleter {
  void operator()(AVDictionary* dictionary) const { av_dict_free(&dictionary); }
};

// Returns the option that takes the encoder's own key=value:key=value list, or "".
absl::string_view ParamsOption(EncodeCodec codec) {
  switch (codec) {
    case EncodeCodec::kH264:
      return "x264-params";
    case EncodeCodec::kHevc:
      return "x265-params";
    case EncodeCodec::kAv1:
      return "svtav1-params";
    default:
      return "";
  }
}

absl::StatusOr<CodecOptions> ParseParams(absl::string_view option, const std::string& text) {
  AVDictionary* parsed = nullptr;
  const int result = av_dict_parse_string(&parsed, text.c_str(), "=", ":", 0);
  const std::unique_ptr<AVDictionary, DictionaryDeleter> owned(parsed);
  if (result < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "options[\"", option, "\"] must read key=value:key=value; got \"", text, "\""));
  }
  CodecOptions params;
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(parsed, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    const bool forbidden = std::find(std::begin(kForbiddenParams), std::end(kForbiddenParams),
                                     entry->key) != std::end(kForbiddenParams);
    if (forbidden || absl::string_view(entry->value).find(':') != absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "options[\"", option, "\"] can't set ", entry->key, "=", entry->value,
          forbidden ? ": the frames decide it" : ": a value can't hold a colon, use a comma"));
    }
    params.emplace_back(entry->key, entry->value);
  }
  return params;
}

// Returns the frame rate for rate control. SVT-AV1 shifts the numerator by 8 bits and takes rates
// under 1 for 0.
AVRational RateControlFps(AVRational rate, const CodecTraits& traits) {
  if (av_q2d(rate) < traits.min_fps) rate = {static_cast<int>(traits.min_fps), 1};
  av_reduce(&rate.num, &rate.den, rate.num, rate.den, 1 << 20);
  return rate;
}

// Checks "tune" and "profile" here, because x264 prints its own error about them before FFmpeg sees
// it.
absl::Status CheckX264Choice(const std::string& name, const std::string& value) {
  constexpr const char* kTunes[] = {"film", "animation", "grain",      "stillimage",
                                    "psnr", "ssim",      "fastdecode", "zerolatency"};
  constexpr const char* kProfiles[] = {"baseline", "main", "high", "high10", "high422", "high444"};
  const bool tune = name == "tune";
  if (!tune && name != "profile") return absl::OkStatus();
  std::vector<std::string> allowed(std::begin(kTunes), std::end(kTunes));
  if (!tune) allowed.assign(std::begin(kProfiles), std::end(kProfiles));
  std::vector<std::string> parts = {value};
  if (tune) parts = absl::StrSplit(value, ',');
  for (const std::string& part : parts) {
    if (std::find(allowed.begin(), allowed.end(), part) != allowed.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "options[\"", name, "\"] of codec h264 must be ", tune ? "made of " : "one of ",
        absl::StrJoin(allowed, ", "), "; got \"", value, "\""));
  }
  return absl::OkStatus();
}

void AppendQuality(const CodecTraits& traits, const EncodeOptions& options,
                   CodecOptions* settings) {
  if (!traits.has_quality || options.bitrate != 0 || options.codec == EncodeCodec::kMjpeg) return;
  // libvpx is lossless only if no quality is set.
  const auto is_lossless = [](const auto& option) { return option.first == "lossless"; };
  if (!options.quality.has_value() &&
      std::any_of(options.codec_options.begin(), options.codec_options.end(), is_lossless)) {
    return;
  }
  const double quality = options.quality.value_or(traits.default_quality);
  if (quality < 0) return;
  if (options.codec == EncodeCodec::kH264 && quality == 0) {
    // qp 0 is lossless at any bit depth; crf 0 is lossless for 8 bits only.
    settings->emplace_back("qp", "0");
  } else {
    settings->emplace_back("crf", absl::StrCat(quality));
  }
}

// Settings of OpenH264, which stands in for x264. Its quantizer is on the same scale as x264's crf:
// a constant one looks about as good as that crf, in a larger file.
absl::StatusOr<CodecOptions> OpenH264Settings(const StreamSpec& stream,
                                              const EncodeOptions& options) {
  const auto lacks = [](absl::string_view argument, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        argument, ": this build encodes H.264 with OpenH264 instead of x264, and it has no ", what,
        "; leave the argument out, or use a build with x264 or backend=\"nvenc\""));
  };
  if (!options.preset.empty()) return lacks("preset", "presets");
  if (options.max_b_frames > 0) return lacks("bf", "B-frames");
  CodecOptions settings;
  if (options.bitrate != 0) {
    settings.emplace_back("rc_mode", "bitrate");
  } else {
    const double quality = options.quality.value_or(kOpenH264Quality);
    if (quality < 1) return lacks("crf", "lossless mode: the smallest crf is 1");
    const std::string quantizer = absl::StrCat(static_cast<int>(std::lround(quality)));
    settings.emplace_back("rc_mode", "quality");
    settings.emplace_back("qmin", quantizer);
    settings.emplace_back("qmax", quantizer);
  }
  for (const auto& [name, value] : options.codec_options) {
    NVC_RETURN_IF_ERROR(CheckCodecOption(stream.encoder, "h264", name));
    settings.emplace_back(name, value);
  }
  return settings;
}

}  // namespace

bool ForcesKeyFrames(const EncodeOptions& options) {
  return options.codec == EncodeCodec::kAv1 && options.gop == 1 &&
         options.engine == EncodeEngine::kCpu;
}

int GopSize(const EncodeOptions& options, int gop) {
  // With NVENC, 0 makes every frame a key frame.
  if (options.engine == EncodeEngine::kNvenc) return gop == 1 ? 0 : gop;
  return ForcesKeyFrames(options) ? 2 : gop;
}

bool IsTag(absl::string_view option) {
  return std::find(std::begin(kTags), std::end(kTags), option) != std::end(kTags);
}

absl::Status CheckCodecOption(const AVCodec* encoder, absl::string_view codec,
                              const std::string& name) {
  for (const auto& [option, argument] : kArguments) {
    if (name != option) continue;
    return absl::InvalidArgumentError(absl::StrCat("options[\"", name,
                                                   "\"] sets the same as the argument ", argument,
                                                   "; give that argument instead"));
  }
  const std::vector<absl::string_view> generic = absl::StrSplit(kGenericOptions, ' ');
  const AVClass* options = encoder->priv_class;
  if (std::find(generic.begin(), generic.end(), name) != generic.end() ||
      (options != nullptr &&
       av_opt_find(&options, name.c_str(), nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ) != nullptr)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("codec ", codec, " (", encoder->name,
                                                 ") has no option \"", name,
                                                 "\" (see ffmpeg -h encoder=", encoder->name, ")"));
}

CodecOptions LibraryParams(const StreamSpec& stream, const EncodeOptions& options,
                           const CodecOptions& given) {
  // If a parameter unknown to x264 comes through x264-params, FFmpeg only warns.
  const std::string option =
      options.codec == EncodeCodec::kH264 ? "x264opts" : std::string(ParamsOption(options.codec));
  const std::string threads = absl::StrCat(options.num_threads);
  CodecOptions params, after;
  if (options.codec == EncodeCodec::kH264) {
    // x264's AVX-512 code for its macroblock tree (r3095) reads uninitialized memory, so the stream
    // would differ from run to run. This parameter selects the plain code there, which is about as
    // fast.
    params.emplace_back("cpu-independent", "1");
  } else if (options.codec == EncodeCodec::kHevc) {
    params.emplace_back("log-level", "none");
    if (options.num_threads > 0) params.emplace_back("pools", threads);
    if (stream.width < kMinCuTreeWidth) after.emplace_back("cutree", "0");
  } else if (options.codec == EncodeCodec::kAv1) {
    if (options.num_threads > 0) params.emplace_back("lp", threads);
    if (ForcesKeyFrames(options)) after.emplace_back("enable-force-key-frames", "1");
  }
  params.insert(params.end(), given.begin(), given.end());
  params.insert(params.end(), after.begin(), after.end());
  if (params.empty()) return {};
  return {{option, absl::StrJoin(params, ":", absl::PairFormatter("="))}};
}

absl::StatusOr<CodecOptions> MakeCodecSettings(const StreamSpec& stream,
                                               const EncodeOptions& options) {
  if (options.engine == EncodeEngine::kNvenc) return MakeNvencSettings(stream.encoder, options);
  const CodecTraits& traits = TraitsOf(options.codec);
  if (IsOpenH264(stream.encoder)) {
    return OpenH264Settings(stream, options);
  }
  CodecOptions settings;
  AppendQuality(traits, options, &settings);
  if (!options.preset.empty()) settings.emplace_back(traits.preset_option, options.preset);

  const absl::string_view params_option = ParamsOption(options.codec);
  CodecOptions params;
  for (const auto& [name, value] : options.codec_options) {
    NVC_RETURN_IF_ERROR(CheckCodecOption(stream.encoder, traits.name, name));
    if (options.codec == EncodeCodec::kH264) NVC_RETURN_IF_ERROR(CheckX264Choice(name, value));
    if (name == params_option || name == "x264opts") {
      NVC_ASSIGN_OR_RETURN(const CodecOptions given, ParseParams(name, value));
      params.insert(params.end(), given.begin(), given.end());
    } else {
      settings.emplace_back(name, value);
    }
  }
  const CodecOptions joined = LibraryParams(stream, options, params);
  settings.insert(settings.end(), joined.begin(), joined.end());
  return settings;
}

void ApplyContextSettings(const StreamSpec& stream, const FrameTiming& timing,
                          const EncodeOptions& options, AVCodecContext* context) {
  const CodecTraits& traits = TraitsOf(options.codec);
  context->time_base = timing.time_base();
  context->framerate = RateControlFps(timing.frame_rate(), traits);
  context->bit_rate = options.bitrate;
  if (options.engine == EncodeEngine::kNvenc) {
    context->gop_size = GopSize(options, options.gop > 0 ? options.gop : kNvencGop);
    context->max_b_frames = NvencBFrames(options);
    return;
  }
  context->thread_count =
      options.codec == EncodeCodec::kHevc ? kX265FrameThreads : options.num_threads;
  if (IsOpenH264(stream.encoder)) {
    // It codes slices in parallel. By itself it makes as many as the machine has cores, up to 35,
    // which costs bits, and fails if the picture has fewer rows of macroblocks. With as many
    // threads as slices it moves rows between them by the time they take, so that equal frames
    // would not give equal bytes.
    context->slices = std::clamp(stream.height / 64, 1, 8);
    const int threads = options.num_threads > 0 ? options.num_threads : av_cpu_count();
    context->thread_count = std::max(1, std::min({threads, 4, context->slices - 1}));
  }
  const int gop = options.gop > 0 ? options.gop : traits.default_gop;
  if (gop > 0) context->gop_size = GopSize(options, gop);
  if (options.max_b_frames >= 0) context->max_b_frames = options.max_b_frames;
  // AVI stores one time per packet, so it can't store pts besides dts.
  if (options.container == EncodeContainer::kAvi && traits.max_b_frames > 0) {
    context->max_b_frames = 0;
  }
  if (options.codec == EncodeCodec::kMjpeg && options.bitrate == 0) {
    const int quality = static_cast<int>(options.quality.value_or(traits.default_quality));
    context->flags |= AV_CODEC_FLAG_QSCALE;
    context->global_quality = quality * FF_QP2LAMBDA;
    context->qmin = std::min(context->qmin, quality);
  }
  // Version 3 has slices, for coding in parallel, and checksums. It needs two rows and columns.
  if (options.codec == EncodeCodec::kFfv1 && std::min(stream.width, stream.height) > 1) {
    context->level = 3;
  }
}

}  // namespace nvc
