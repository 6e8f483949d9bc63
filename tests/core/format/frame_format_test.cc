#include "tf_nvcodec/core/format/frame_format.h"

#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

TEST(FrameFormatTest, ParsersTakeTheirOwnNames) {
  for (PixelFormat format :
       {PixelFormat::kNative, PixelFormat::kRgb, PixelFormat::kBgr, PixelFormat::kGray,
        PixelFormat::kNv12, PixelFormat::kYuv420p, PixelFormat::kYuv444p, PixelFormat::kP010}) {
    ASSERT_TRUE(ParsePixelFormat(Name(format)).ok()) << Name(format);
    EXPECT_EQ(*ParsePixelFormat(Name(format)), format);
  }
  for (ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    EXPECT_EQ(*ParseColorSpace(Name(space)), space);
  }
  for (ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
    EXPECT_EQ(*ParseColorRange(Name(range)), range);
  }
  EXPECT_EQ(*ParseLayout("thwc"), Layout::kThwc);
  EXPECT_EQ(*ParseLayout("tchw"), Layout::kTchw);
  EXPECT_EQ(*ParseResizeMethod("nearest"), ResizeMethod::kNearest);
  EXPECT_EQ(*ParseResizeMethod("bilinear"), ResizeMethod::kBilinear);
  EXPECT_EQ(*ParseResizeMethod("bicubic"), ResizeMethod::kBicubic);
  EXPECT_EQ(*ParseResizeMethod("area"), ResizeMethod::kArea);
  EXPECT_EQ(*ParseChromaUpsampling("nearest"), ChromaUpsampling::kNearest);
  EXPECT_EQ(*ParseChromaUpsampling("bilinear"), ChromaUpsampling::kBilinear);
}

TEST(FrameFormatTest, ParsersSayWhatIsAllowed) {
  const absl::Status status = ParsePixelFormat("RGB").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "pixel_format must be one of native, rgb, bgr, gray, nv12, yuv420p, yuv444p, p010; "
            "got \"RGB\"");
  EXPECT_THAT(std::string(ParseLayout("").status().message()), HasSubstr("layout"));
  EXPECT_THAT(std::string(ParseResizeMethod("lanczos").status().message()), HasSubstr("lanczos"));
  EXPECT_THAT(std::string(ParseChromaUpsampling("x").status().message()), HasSubstr("bilinear"));
  EXPECT_THAT(std::string(ParseColorSpace("x").status().message()), HasSubstr("bt2020"));
  EXPECT_THAT(std::string(ParseColorRange("x").status().message()), HasSubstr("limited, full"));
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

struct SpecCase {
  const char* name;
  std::function<void(OutputSpec*)> set;
  const char* error;  // part of the message; null when the spec is valid
};

TEST(FrameFormatTest, Validate) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const SpecCase cases[] = {
      {"default", [](OutputSpec*) {}, nullptr},
      {"size", [](OutputSpec* o) { o->height = 3, o->width = 5; }, nullptr},
      {"largest size", [](OutputSpec* o) { o->height = o->width = kMaxSide; }, nullptr},
      {"height only", [](OutputSpec* o) { o->height = 3; }, "got (3, 0)"},
      {"width only", [](OutputSpec* o) { o->width = 3; }, "got (0, 3)"},
      {"negative size", [](OutputSpec* o) { o->height = -3, o->width = 5; }, "got (-3, 5)"},
      {"huge size", [](OutputSpec* o) { o->height = kMaxSide + 1, o->width = 5; }, "at most 65536"},
      {"crop",
       [](OutputSpec* o) {
         o->crop = Crop{1, 3, 5, 7};
       },
       nullptr},
      {"crop above",
       [](OutputSpec* o) {
         o->crop = Crop{-1, 3, 5, 7};
       },
       "got (-1, 3, 5, 7)"},
      {"crop left",
       [](OutputSpec* o) {
         o->crop = Crop{1, -3, 5, 7};
       },
       "got (1, -3, 5, 7)"},
      {"empty crop",
       [](OutputSpec* o) {
         o->crop = Crop{1, 3, 0, 7};
       },
       "at least 1"},
      {"thin crop",
       [](OutputSpec* o) {
         o->crop = Crop{1, 3, 5, 0};
       },
       "at least 1"},
      {"uint16 rgb", [](OutputSpec* o) { o->sample_type = SampleType::kUint16; }, nullptr},
      {"uint16 p010",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kP010;
         o->sample_type = SampleType::kUint16;
       },
       "dtype uint16 needs pixel_format rgb, bgr or gray"},
      {"float native",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNative;
         o->sample_type = SampleType::kFloat32;
       },
       "\"native\" frames are packed bytes"},
      {"tchw rgb", [](OutputSpec* o) { o->layout = Layout::kTchw; }, nullptr},
      {"tchw nv12",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNv12;
         o->layout = Layout::kTchw;
       },
       "layout tchw"},
      {"native", [](OutputSpec* o) { o->pixel_format = PixelFormat::kNative; }, nullptr},
      {"native size",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNative;
         o->height = o->width = 8;
       },
       "takes no size"},
      {"native crop",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNative;
         o->crop = Crop{0, 0, 2, 2};
       },
       "takes no crop"},
      {"even nv12",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNv12;
         o->crop = Crop{2, 4, 6, 8};
         o->height = 10, o->width = 12;
       },
       nullptr},
      {"odd height",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kNv12;
         o->height = 11, o->width = 12;
       },
       "size's height must be a multiple of 2 for pixel_format \"nv12\""},
      {"odd width",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kYuv420p;
         o->height = 10, o->width = 13;
       },
       "got 13"},
      {"odd top",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kP010;
         o->crop = Crop{1, 4, 6, 8};
       },
       "crop's top"},
      {"odd left",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kP010;
         o->crop = Crop{2, 5, 6, 8};
       },
       "crop's left"},
      {"odd crop height",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kP010;
         o->crop = Crop{2, 4, 7, 8};
       },
       "crop's height"},
      {"odd crop width",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kP010;
         o->crop = Crop{2, 4, 6, 9};
       },
       "crop's width"},
      {"odd yuv444p",
       [](OutputSpec* o) {
         o->pixel_format = PixelFormat::kYuv444p;
         o->crop = Crop{1, 3, 5, 7};
         o->height = 11, o->width = 13;
       },
       nullptr},
      {"mean of floats",
       [](OutputSpec* o) {
         o->sample_type = SampleType::kFloat16;
         o->mean = {0.5f, 0.4f, 0.3f};
         o->std_dev = {0.2f, 0.2f, -0.2f};
       },
       nullptr},
      {"mean of integers", [](OutputSpec* o) { o->mean[1] = 0.5f; },
       "need dtype float16 or float32; got dtype uint8"},
      {"std of integers",
       [](OutputSpec* o) {
         o->sample_type = SampleType::kUint16;
         o->std_dev[2] = 0.5f;
       },
       "got dtype uint16"},
      {"zero std",
       [](OutputSpec* o) {
         o->sample_type = SampleType::kFloat32;
         o->std_dev[2] = 0;
       },
       "channel 2"},
      {"NaN mean",
       [](OutputSpec* o) {
         o->sample_type = SampleType::kFloat32;
         o->mean[0] = kNan;
       },
       "channel 0"},
      {"infinite std",
       [](OutputSpec* o) {
         o->sample_type = SampleType::kFloat32;
         o->std_dev[1] = kInfinity;
       },
       "channel 1"},
  };
  for (const SpecCase& c : cases) {
    OutputSpec output;
    c.set(&output);
    const absl::Status status = output.Validate();
    if (c.error == nullptr) {
      EXPECT_TRUE(status.ok()) << c.name << ": " << status.ToString();
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.error)) << c.name;
  }
}

}  // namespace
}  // namespace nvc
