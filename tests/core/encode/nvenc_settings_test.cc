#include "tf_nvcodec/core/encode/nvenc_settings.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/encode/codec_settings.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr EncodeCodec kCodecs[] = {EncodeCodec::kH264, EncodeCodec::kHevc, EncodeCodec::kAv1};

EncodeOptions Nvenc(EncodeCodec codec) {
  EncodeOptions options;
  options.codec = codec;
  options.engine = EncodeEngine::kNvenc;
  return options;
}

// Returns the NVENC encoders of this machine's libavcodec, which may lack some or all.
std::vector<std::pair<EncodeCodec, const AVCodec*>> Encoders() {
  std::vector<std::pair<EncodeCodec, const AVCodec*>> found;
  for (const EncodeCodec codec : kCodecs) {
    const auto encoder = FindNvencEncoder(codec);
    if (encoder.ok()) {
      found.emplace_back(codec, *encoder);
    } else {
      EXPECT_EQ(encoder.status().code(), absl::StatusCode::kUnimplemented);
      EXPECT_THAT(std::string(encoder.status().message()), HasSubstr("_nvenc"));
    }
  }
  return found;
}

FrameBatch Frames(PixelFormat format) {
  FrameBatch frames;
  frames.pixel_format = format;
  frames.width = 96;
  frames.height = 64;
  frames.count = 1;
  frames.frame_bytes = *FrameBytes(format, SampleType::kUint8, 64, 96);
  return frames;
}

TEST(NvencCodecTest, OtherCodecsAreRefused) {
  for (const EncodeCodec codec : {EncodeCodec::kVp9, EncodeCodec::kMjpeg, EncodeCodec::kFfv1}) {
    EncodeOptions options = Nvenc(codec);
    options.container = EncodeContainer::kMkv;
    EXPECT_EQ(options.Validate().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("h264, hevc and av1, not"));
  }
}

TEST(NvencCodecTest, EveryPresetMapsToAnNvencPreset) {
  for (const EncodeCodec codec : kCodecs) {
    const std::vector<std::string>& presets = TraitsOf(codec).presets;
    // x264 and x265 list their fastest preset first, SVT-AV1 its slowest.
    const bool fast_first = codec != EncodeCodec::kAv1;
    std::string last = fast_first ? "p1" : "p7";
    for (const std::string& preset : presets) {
      const std::string nvenc = NvencPreset(codec, preset);
      ASSERT_EQ(nvenc.size(), 2) << preset;
      EXPECT_TRUE(fast_first ? nvenc >= last : nvenc <= last) << preset << " is " << nvenc;
      last = nvenc;
    }
    EXPECT_EQ(last, fast_first ? "p7" : "p1");
    EXPECT_EQ(NvencPreset(codec, "p6"), "p6");
    for (const char* const wrong : {"p0", "p8", "quick", "14", "p10", ""}) {
      EXPECT_EQ(NvencPreset(codec, wrong), "") << wrong;
    }
  }
  EXPECT_EQ(NvencPreset(EncodeCodec::kH264, "medium"), "p4");
  EXPECT_EQ(NvencPreset(EncodeCodec::kAv1, "6"), "p4");
}

TEST(NvencCodecTest, NvencPresetsAreRefusedOnTheCpu) {
  EncodeOptions options;
  options.preset = "p4";
  EXPECT_EQ(options.Validate().code(), absl::StatusCode::kInvalidArgument);
  options.preset = "p9";
  options.engine = EncodeEngine::kNvenc;
  if (!FindNvencEncoder(options.codec).ok()) GTEST_SKIP() << "libavcodec has no h264_nvenc";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("placebo, p1 to p7; got"));
}

TEST(NvencSettingsTest, QualityRateAndLosslessness) {
  const auto encoder = FindNvencEncoder(EncodeCodec::kH264);
  if (!encoder.ok()) GTEST_SKIP() << encoder.status();
  EncodeOptions options = Nvenc(EncodeCodec::kH264);
  EXPECT_THAT(*MakeNvencSettings(*encoder, options),
              ElementsAre(Pair("preset", "p4"), Pair("rc", "vbr"), Pair("cq", "23")));
  options.quality = 31.5;
  options.preset = "veryslow";
  EXPECT_THAT(*MakeNvencSettings(*encoder, options),
              ElementsAre(Pair("preset", "p7"), Pair("rc", "vbr"), Pair("cq", "31.5")));
  options.quality = 0.25;  // must not become 0, which lets NVENC choose
  EXPECT_THAT((*MakeNvencSettings(*encoder, options))[2], Pair("cq", "1"));
  options.quality = 0;
  EXPECT_THAT(*MakeNvencSettings(*encoder, options),
              ElementsAre(Pair("preset", "p7"), Pair("tune", "lossless")));
  options.quality.reset();
  options.bitrate = 1000000;
  options.codec_options = {{"rc", "cbr"}, {"spatial-aq", "1"}};
  EXPECT_THAT(*MakeNvencSettings(*encoder, options),
              ElementsAre(Pair("preset", "p7"), Pair("rc", "vbr"), Pair("rc", "cbr"),
                          Pair("spatial-aq", "1")));
}

// Needs no GPU: libavcodec checks the options against its own tables.
TEST(NvencSettingsTest, LibavcodecAcceptsEveryNameAndValue) {
  for (const auto& [codec, encoder] : Encoders()) {
    for (const std::string& preset : TraitsOf(codec).presets) {
      for (const double quality : {0.0, 1.0, 20.5, TraitsOf(codec).max_quality - 12.0}) {
        for (const int64_t bitrate : {0, 500000}) {
          EncodeOptions options = Nvenc(codec);
          options.preset = preset;
          if (bitrate == 0) options.quality = quality;
          options.bitrate = bitrate;
          const auto settings = MakeNvencSettings(encoder, options);
          ASSERT_TRUE(settings.ok()) << settings.status();
          const AvCodecContextPtr context(avcodec_alloc_context3(encoder));
          for (const auto& [name, value] : *settings) {
            EXPECT_GE(av_opt_set(context->priv_data, name.c_str(), value.c_str(), 0), 0)
                << encoder->name << " " << name << "=" << value;
          }
        }
      }
    }
  }
}

TEST(NvencSettingsTest, RefusesUnknownOptionsAndThoseThatArgumentsSet) {
  const auto encoder = FindNvencEncoder(EncodeCodec::kHevc);
  if (!encoder.ok()) GTEST_SKIP() << encoder.status();
  const std::pair<const char*, const char*> bad[] = {
      {"tuna", "has no option \"tuna\""}, {"x265-params", "has no option"},
      {"cq", "the same as crf"},          {"gpu", "the same as backend"},
      {"preset", "argument preset"},      {"g", "argument gop"},
      {"rc", "no bitrate is given"},      {"qp", "argument crf"},
  };
  for (const auto& [name, words] : bad) {
    EncodeOptions options = Nvenc(EncodeCodec::kHevc);
    options.codec_options = {{name, "1"}};
    const auto settings = MakeNvencSettings(*encoder, options);
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(settings.status().message()), HasSubstr(words));
  }
}

TEST(NvencSettingsTest, KeyFramesAndBFrames) {
  const auto timing = FrameTiming::FromFps(25);
  for (const auto& [codec, encoder] : Encoders()) {
    const AvCodecContextPtr context(avcodec_alloc_context3(encoder));
    EncodeOptions options = Nvenc(codec);
    StreamSpec stream;
    ApplyContextSettings(stream, *timing, options, context.get());
    EXPECT_EQ(context->gop_size, 250);
    EXPECT_EQ(context->max_b_frames, codec == EncodeCodec::kH264 ? 2 : 0);
    options.gop = 12;
    options.bitrate = 123456;
    ApplyContextSettings(stream, *timing, options, context.get());
    EXPECT_EQ(context->gop_size, 12);
    EXPECT_EQ(context->bit_rate, 123456);
    options.gop = 1;  // libavcodec's gop_size 0 means intra pictures only
    ApplyContextSettings(stream, *timing, options, context.get());
    EXPECT_EQ(context->gop_size, 0);
    EXPECT_EQ(context->max_b_frames, 0);
    options.gop = 0;
    options.container = EncodeContainer::kAvi;
    EXPECT_EQ(NvencBFrames(options), 0);
    options.container = EncodeContainer::kMp4;
    options.max_b_frames = 3;
    EXPECT_EQ(NvencBFrames(options), 3);
  }
}

TEST(NvencStreamTest, ChoosesFormatsThatNvencReads) {
  for (const auto& [codec, encoder] : Encoders()) {
    for (const PixelFormat input :
         {PixelFormat::kRgb, PixelFormat::kYuv444p, PixelFormat::kP010, PixelFormat::kNv12}) {
      const auto stream = ChooseStream(Frames(input), Nvenc(codec));
      ASSERT_TRUE(stream.ok()) << stream.status();
      EXPECT_EQ(stream->encoder, encoder);
      EXPECT_TRUE(TakesFormat(encoder, stream->encoder_format)) << Name(input);
      const bool ten_bits = input == PixelFormat::kP010 && codec != EncodeCodec::kH264;
      EXPECT_EQ(stream->format == AV_PIX_FMT_YUV420P10, ten_bits);
      if (ten_bits) EXPECT_EQ(stream->encoder_format, AV_PIX_FMT_P010);
    }
    EncodeOptions options = Nvenc(codec);
    options.pixel_format = "yuv420p10le";
    const auto none = ChooseStream(Frames(PixelFormat::kRgb), options);
    EXPECT_THAT(std::string(none.status().message()),
                HasSubstr("of rgb frames with NVENC; it can"));
  }
}

}  // namespace
}  // namespace nvc
