#include "tf_nvcodec/core/format/frame_format.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

// Parses all names, in the order of the enum, and a wrong one, which gives a message with `words`.
template <typename Parse>
void ExpectNames(Parse parse, std::initializer_list<const char*> names, const char* words) {
  int value = 0;
  for (const char* name : names) {
    ASSERT_TRUE(parse(name).ok()) << name;
    EXPECT_EQ(static_cast<int>(*parse(name)), value++) << name;
  }
  const absl::Status status = parse("RGB").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

TEST(FrameFormatTest, ParsersTakeTheirNamesAndListThem) {
  ExpectNames(ParsePixelFormat,
              {"native", "rgb", "bgr", "gray", "nv12", "yuv420p", "yuv444p", "p010"},
              "pixel_format must be one of native, rgb, bgr, gray, nv12, yuv420p, yuv444p, p010; "
              "got \"RGB\"");
  ExpectNames(ParseLayout, {"thwc", "tchw"}, "layout must be one of thwc, tchw");
  ExpectNames(ParseResizeMethod, {"nearest", "bilinear", "bicubic", "area", "lanczos3"},
              "area, lanczos3");
  ExpectNames(ParseChromaUpsampling, {"nearest", "bilinear"}, "chroma_upsampling");
  ExpectNames(ParseDeinterlace, {"none", "bob"}, "none, bob");
  ExpectNames(ParseColorSpace, {"bt601", "bt709", "bt2020"}, "bt2020");
  ExpectNames(ParseColorRange, {"limited", "full"}, "limited, full");
  EXPECT_EQ(Name(PixelFormat::kP010), "p010");
  EXPECT_EQ(Name(SampleType::kFloat16), "float16");
  EXPECT_EQ(Name(ColorSpace::kBt2020), "bt2020");
  EXPECT_EQ(Name(ColorRange::kFull), "full");
}

TEST(FrameFormatTest, Sizes) {
  EXPECT_EQ(SampleSize(SampleType::kUint8), 1u);
  EXPECT_EQ(SampleSize(SampleType::kUint16), 2u);
  EXPECT_EQ(SampleSize(SampleType::kFloat16), 2u);
  EXPECT_EQ(SampleSize(SampleType::kFloat32), 4u);
  EXPECT_EQ(Channels(PixelFormat::kBgr), 3);
  EXPECT_EQ(Channels(PixelFormat::kGray), 1);
  EXPECT_EQ(Channels(PixelFormat::kNative), 0);
  EXPECT_EQ(Channels(PixelFormat::kP010), 0);
}

OutputSpec Of(PixelFormat format, SampleType type = SampleType::kUint8,
              Layout layout = Layout::kThwc) {
  OutputSpec output;
  output.pixel_format = format;
  output.sample_type = type;
  output.layout = layout;
  return output;
}

OutputSpec Sized(PixelFormat format, int height, int width, std::optional<Crop> crop = {}) {
  OutputSpec output = Of(format);
  output.height = height;
  output.width = width;
  output.crop = crop;
  return output;
}

OutputSpec Normalized(SampleType type, std::array<float, 3> mean, std::array<float, 3> std_dev) {
  OutputSpec output = Of(PixelFormat::kRgb, type);
  output.mean = mean;
  output.std_dev = std_dev;
  return output;
}

TEST(FrameFormatTest, Validate) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr PixelFormat kRgb = PixelFormat::kRgb, kNv12 = PixelFormat::kNv12;
  constexpr PixelFormat kP010 = PixelFormat::kP010, kNative = PixelFormat::kNative;
  const OutputSpec valid[] = {
      OutputSpec(),
      Sized(kRgb, 3, 5),
      Sized(kRgb, kMaxSide, kMaxSide),
      Sized(kRgb, 0, 0, Crop{1, 3, 5, 7}),
      Of(kRgb, SampleType::kUint16),
      Of(kRgb, SampleType::kUint8, Layout::kTchw),
      Of(kNative),
      Sized(kNv12, 10, 12, Crop{2, 4, 6, 8}),
      Sized(PixelFormat::kYuv444p, 11, 13, Crop{1, 3, 5, 7}),
      Normalized(SampleType::kFloat16, {0.5f, 0.4f, 0.3f}, {0.2f, 0.2f, -0.2f}),
  };
  for (const OutputSpec& output : valid) EXPECT_TRUE(output.Validate().ok()) << output.Validate();

  const std::pair<OutputSpec, const char*> invalid[] = {
      {Sized(kRgb, 3, 0), "got (3, 0)"},
      {Sized(kRgb, 0, 3), "got (0, 3)"},
      {Sized(kRgb, -3, 5), "got (-3, 5)"},
      {Sized(kRgb, kMaxSide + 1, 5), "at most 65536"},
      {Sized(kRgb, 0, 0, Crop{-1, 3, 5, 7}), "got (-1, 3, 5, 7)"},
      {Sized(kRgb, 0, 0, Crop{1, -3, 5, 7}), "got (1, -3, 5, 7)"},
      {Sized(kRgb, 0, 0, Crop{1, 3, 0, 7}), "at least 1"},
      {Sized(kRgb, 0, 0, Crop{1, 3, 5, 0}), "at least 1"},
      {Of(kP010, SampleType::kUint16), "dtype uint16 needs pixel_format rgb, bgr or gray"},
      {Of(kNative, SampleType::kFloat32), "\"native\" frames are packed bytes"},
      {Of(kNv12, SampleType::kUint8, Layout::kTchw), "layout tchw"},
      {Sized(kNative, 8, 8), "takes no size"},
      {Sized(kNative, 0, 0, Crop{0, 0, 2, 2}), "takes no crop"},
      {Sized(kNv12, 11, 12), "size's height must be a multiple of 2 for pixel_format \"nv12\""},
      {Sized(PixelFormat::kYuv420p, 10, 13), "got 13"},
      {Sized(kP010, 0, 0, Crop{1, 4, 6, 8}), "crop's top"},
      {Sized(kP010, 0, 0, Crop{2, 5, 6, 8}), "crop's left"},
      {Sized(kP010, 0, 0, Crop{2, 4, 7, 8}), "crop's height"},
      {Sized(kP010, 0, 0, Crop{2, 4, 6, 9}), "crop's width"},
      {Normalized(SampleType::kUint8, {0, 0.5f, 0}, {1, 1, 1}),
       "need dtype float16 or float32; got dtype uint8"},
      {Normalized(SampleType::kUint16, {0, 0, 0}, {1, 1, 0.5f}), "got dtype uint16"},
      {Normalized(SampleType::kFloat32, {0, 0, 0}, {1, 1, 0}), "channel 2"},
      {Normalized(SampleType::kFloat32, {kNan, 0, 0}, {1, 1, 1}), "channel 0"},
      {Normalized(SampleType::kFloat32, {0, 0, 0}, {1, kInfinity, 1}), "channel 1"},
  };
  for (const auto& [output, words] : invalid) {
    const absl::Status status = output.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
}

}  // namespace
}  // namespace nvc
