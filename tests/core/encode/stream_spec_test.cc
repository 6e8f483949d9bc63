#include "tf_nvcodec/core/encode/stream_spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

using ::testing::HasSubstr;

FrameBatch Batch(int width, int height, PixelFormat format = PixelFormat::kRgb,
                 SampleType type = SampleType::kUint8) {
  FrameBatch frames;
  frames.count = 1;
  frames.width = width;
  frames.height = height;
  frames.pixel_format = format;
  frames.sample_type = type;
  return frames;
}

EncodeOptions Options(EncodeCodec codec, EncodeContainer container = EncodeContainer::kMkv,
                      const std::string& pixel_format = "") {
  EncodeOptions options;
  options.codec = codec;
  options.container = container;
  options.pixel_format = pixel_format;
  return options;
}

struct Choice {
  EncodeCodec codec;
  PixelFormat input;
  SampleType type;
  AVPixelFormat format;
};

TEST(StreamSpecTest, DefaultFormatKeepsWhatTheCodecCanHold) {
  const Choice all[] = {
      {EncodeCodec::kH264, PixelFormat::kRgb, SampleType::kUint8, AV_PIX_FMT_YUV420P},
      {EncodeCodec::kH264, PixelFormat::kRgb, SampleType::kFloat32, AV_PIX_FMT_YUV420P},
      {EncodeCodec::kH264, PixelFormat::kRgb, SampleType::kUint16, AV_PIX_FMT_YUV420P10},
      {EncodeCodec::kMjpeg, PixelFormat::kRgb, SampleType::kUint16, AV_PIX_FMT_YUV420P},
      {EncodeCodec::kHevc, PixelFormat::kGray, SampleType::kUint8, AV_PIX_FMT_YUV420P},
      {EncodeCodec::kHevc, PixelFormat::kP010, SampleType::kUint8, AV_PIX_FMT_YUV420P10},
      {EncodeCodec::kVp9, PixelFormat::kYuv444p, SampleType::kUint8, AV_PIX_FMT_YUV444P},
      {EncodeCodec::kAv1, PixelFormat::kYuv444p, SampleType::kUint8, AV_PIX_FMT_YUV420P},
      {EncodeCodec::kFfv1, PixelFormat::kRgb, SampleType::kUint8, AV_PIX_FMT_BGR0},
      {EncodeCodec::kFfv1, PixelFormat::kBgr, SampleType::kUint16, AV_PIX_FMT_GBRP16},
      {EncodeCodec::kFfv1, PixelFormat::kRgb, SampleType::kFloat16, AV_PIX_FMT_GBRP16},
      {EncodeCodec::kFfv1, PixelFormat::kGray, SampleType::kUint8, AV_PIX_FMT_GRAY8},
      {EncodeCodec::kFfv1, PixelFormat::kGray, SampleType::kUint16, AV_PIX_FMT_GRAY16},
      {EncodeCodec::kFfv1, PixelFormat::kNv12, SampleType::kUint8, AV_PIX_FMT_YUV420P},
  };
  for (const Choice& choice : all) {
    FrameBatch frames = Batch(64, 64, choice.input, choice.type);
    EncodeOptions options = Options(choice.codec);
    if (choice.codec == EncodeCodec::kMjpeg) options.color_range = ColorRange::kFull;
    const auto spec = ChooseStream(frames, options);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(spec->format, choice.format)
        << TraitsOf(choice.codec).name << " " << Name(choice.input) << " " << Name(choice.type);
  }
}

TEST(StreamSpecTest, ColoursAreGuessedByTheSizeAndTagged) {
  const auto small = ChooseStream(Batch(720, 576), Options(EncodeCodec::kH264));
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->matrix, AVCOL_SPC_SMPTE170M);
  EXPECT_EQ(small->primaries, AVCOL_PRI_SMPTE170M);
  EXPECT_EQ(small->transfer, AVCOL_TRC_SMPTE170M);
  EXPECT_EQ(small->range, AVCOL_RANGE_MPEG);
  EXPECT_EQ(small->chroma_location, AVCHROMA_LOC_CENTER);
  for (const auto& [width, height] : {std::pair{1280, 16}, {720, 578}}) {
    const auto large = ChooseStream(Batch(width, height), Options(EncodeCodec::kH264));
    ASSERT_TRUE(large.ok());
    EXPECT_EQ(large->matrix, AVCOL_SPC_BT709);
    EXPECT_EQ(large->primaries, AVCOL_PRI_BT709);
  }
}

TEST(StreamSpecTest, TagsFollowTheArguments) {
  EncodeOptions options = Options(EncodeCodec::kHevc, EncodeContainer::kMp4, "yuv420p12le");
  options.color_space = ColorSpace::kBt2020;
  options.color_range = ColorRange::kFull;
  const auto spec = ChooseStream(Batch(64, 64), options);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->matrix, AVCOL_SPC_BT2020_NCL);
  EXPECT_EQ(spec->transfer, AVCOL_TRC_BT2020_12);
  EXPECT_EQ(spec->range, AVCOL_RANGE_JPEG);
}

TEST(StreamSpecTest, ChromaOfPackedFramesIsWhereItWas) {
  const auto spec = ChooseStream(Batch(64, 64, PixelFormat::kYuv420p), Options(EncodeCodec::kH264));
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->chroma_location, AVCHROMA_LOC_UNSPECIFIED);
}

TEST(StreamSpecTest, EncodersAreHandedWhatTheyTakeWithoutACopy) {
  const auto nv12 = ChooseStream(Batch(64, 64, PixelFormat::kNv12), Options(EncodeCodec::kH264));
  ASSERT_TRUE(nv12.ok());
  EXPECT_EQ(nv12->format, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(nv12->encoder_format, AV_PIX_FMT_NV12);
  const auto rgb = ChooseStream(Batch(64, 64, PixelFormat::kBgr),
                                Options(EncodeCodec::kH264, EncodeContainer::kMp4, "gbrp"));
  ASSERT_TRUE(rgb.ok());
  EXPECT_EQ(rgb->encoder_format, AV_PIX_FMT_BGR24);
  EXPECT_STREQ(rgb->encoder->name, "libx264rgb");
}

TEST(StreamSpecTest, OddSizesPassWhereTheyCanBeStored) {
  EXPECT_TRUE(ChooseStream(Batch(33, 17), Options(EncodeCodec::kVp9)).ok());
  EXPECT_TRUE(ChooseStream(Batch(33, 17), Options(EncodeCodec::kMjpeg)).ok());
  EXPECT_TRUE(ChooseStream(Batch(33, 17), Options(EncodeCodec::kFfv1)).ok());
  for (const char* format : {"yuv444p", "gray", "gbrp"}) {
    EXPECT_TRUE(
        ChooseStream(Batch(33, 17), Options(EncodeCodec::kH264, EncodeContainer::kMkv, format))
            .ok())
        << format;
  }
  EXPECT_TRUE(
      ChooseStream(Batch(34, 17), Options(EncodeCodec::kH264, EncodeContainer::kMkv, "yuv422p"))
          .ok());
}

struct Refusal {
  const char* what;
  FrameBatch frames;
  EncodeOptions options;
  const char* words;
};

TEST(StreamSpecTest, RefusesAndSaysWhatWouldDo) {
  EncodeOptions jpeg709 = Options(EncodeCodec::kMjpeg);
  jpeg709.color_space = ColorSpace::kBt709;
  EncodeOptions limited_rgb = Options(EncodeCodec::kFfv1);
  limited_rgb.color_range = ColorRange::kLimited;
  EncodeOptions avi709 = Options(EncodeCodec::kFfv1, EncodeContainer::kAvi, "yuv420p");
  avi709.color_space = ColorSpace::kBt709;
  EncodeOptions mov_full = Options(EncodeCodec::kFfv1, EncodeContainer::kMov, "yuv420p");
  mov_full.color_range = ColorRange::kFull;
  const Refusal all[] = {
      {"odd width", Batch(33, 18), Options(EncodeCodec::kH264), "use pixel_format yuv444p"},
      {"odd height", Batch(34, 17), Options(EncodeCodec::kHevc), "a height with halved chroma"},
      {"odd AV1", Batch(65, 64), Options(EncodeCodec::kAv1), "use codec vp9"},
      {"odd 4:2:2", Batch(33, 18), Options(EncodeCodec::kH264, EncodeContainer::kMkv, "yuv422p"),
       "33x18"},
      {"small HEVC", Batch(14, 64), Options(EncodeCodec::kHevc), "from 16x16 to"},
      {"thin HEVC", Batch(4224, 30), Options(EncodeCodec::kHevc),
       "only if the other side has at most 4222"},
      {"small AV1", Batch(64, 62), Options(EncodeCodec::kAv1), "from 64x64 to 16384x8704"},
      {"large", Batch(16386, 16), Options(EncodeCodec::kH264), "to 16384x16384"},
      {"format", Batch(64, 64), Options(EncodeCodec::kAv1, EncodeContainer::kMkv, "yuv444p"),
       "it can store: yuv420p, yuv420p10le"},
      {"no format", Batch(64, 64), Options(EncodeCodec::kH264, EncodeContainer::kMkv, "yuv"),
       "codec h264 can't store pixel_format \"yuv\"; it can store: "},
      {"RGB of YUV", Batch(64, 64, PixelFormat::kNv12),
       Options(EncodeCodec::kFfv1, EncodeContainer::kMkv, "bgr0"), "give rgb frames"},
      {"JPEG 709", Batch(64, 64), jpeg709, "always stores bt601 in full range"},
      {"limited JPEG", Batch(64, 64, PixelFormat::kNv12), Options(EncodeCodec::kMjpeg),
       "say so with color_space and color_range"},
      {"limited RGB", Batch(64, 64), limited_rgb, "in full range; got color_range limited"},
      {"untagged", Batch(64, 64), avi709, "take the colours for bt601, limited: use container mkv"},
      {"untagged range", Batch(64, 64), mov_full, "take the colours for bt601, limited"},
  };
  for (const Refusal& refusal : all) {
    const auto spec = ChooseStream(refusal.frames, refusal.options);
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << refusal.what;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(refusal.words)) << refusal.what;
  }
}

}  // namespace
}  // namespace nvc
