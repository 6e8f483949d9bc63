#include "tf_nvcodec/core/convert/frame_converter.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_checks.h"
#include "tests/core/testing/convert_draw.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/core/testing/orientations.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

using ::testing::HasSubstr;

const PixelFormat kAllOutputs[] = {PixelFormat::kRgb,  PixelFormat::kBgr,     PixelFormat::kGray,
                                   PixelFormat::kNv12, PixelFormat::kYuv420p, PixelFormat::kYuv444p,
                                   PixelFormat::kP010};
const AVPixelFormat kYuvFormats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P12,
                                     AV_PIX_FMT_NV12};

TEST(FrameConverterTest, EveryReadableFormatToEveryOutput) {
  const uint64_t unreadable =
      AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
  int formats = 0;
  for (const AVPixFmtDescriptor* d = av_pix_fmt_desc_next(nullptr); d != nullptr;
       d = av_pix_fmt_desc_next(d)) {
    const AVPixelFormat format = av_pix_fmt_desc_get_id(d);
    if ((d->flags & unreadable) != 0 || strncmp(d->name, "xyz", 3) == 0) continue;
    if (format == AV_PIX_FMT_UYYVYY411) continue;
    if (d->nb_components < 1 || d->comp[0].depth > 16) continue;
    ++formats;
    for (PixelFormat pixel_format : kAllOutputs) {
      OutputSpec output;
      output.pixel_format = pixel_format;
      ExpectMatches(output, format, 11, 7);
      output.height = 6;
      output.width = 4;
      ExpectMatches(output, format, 11, 7, {}, 3);
    }
  }
  EXPECT_GT(formats, 150);
}

TEST(FrameConverterTest, ColourOfEverySpaceRangeAndDepth) {
  const AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV420P12,
                                   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P16,
                                   AV_PIX_FMT_YUV422P14, AV_PIX_FMT_YUV440P,   AV_PIX_FMT_P010,
                                   AV_PIX_FMT_YUV420P9,  AV_PIX_FMT_P016,      AV_PIX_FMT_GBRP,
                                   AV_PIX_FMT_GBRP12,    AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10};
  const AVColorSpace spaces[] = {AVCOL_SPC_SMPTE170M, AVCOL_SPC_BT709, AVCOL_SPC_BT2020_NCL};
  double worst = 0;
  for (AVPixelFormat format : formats) {
    for (AVColorSpace space : spaces) {
      for (AVColorRange range : {AVCOL_RANGE_MPEG, AVCOL_RANGE_JPEG}) {
        for (int resized = 0; resized < 2; ++resized) {
          for (PixelFormat to : {PixelFormat::kRgb, PixelFormat::kGray, PixelFormat::kYuv420p}) {
            TestFrame frame(format, 70, 14, 11);
            frame.frame().colorspace = space;
            frame.frame().color_range = range;
            OutputSpec output;
            output.pixel_format = to;
            if (resized) output.height = 10, output.width = 34;
            const SourceSpec source = SourceSpec::Of(frame.frame());
            worst = std::max(worst, ExpectMatches(output, source, frame.frame()));
          }
        }
      }
    }
  }
  EXPECT_LT(worst, 0.08);
}

TEST(FrameConverterTest, OverridesBeatTheStreamsTags) {
  for (ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    for (ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      OutputSpec output;
      output.color_space = space;
      output.color_range = range;
      TestFrame frame(AV_PIX_FMT_YUV420P, 34, 6, 5);
      frame.frame().colorspace = AVCOL_SPC_YCGCO;
      frame.frame().color_range = AVCOL_RANGE_JPEG;
      ExpectMatches(output, SourceSpec::Of(frame.frame()), frame.frame());
    }
  }
}

TEST(FrameConverterTest, OrientationsCropsAndOddSizes) {
  const Crop crops[] = {{0, 0, 0, 0}, {2, 4, 6, 8}, {3, 5, 7, 9}, {1, 0, 1, 1}};
  for (AVPixelFormat format : kYuvFormats) {
    for (const Orientation& orientation : kOrientations) {
      for (const Crop& crop : crops) {
        for (PixelFormat to : kAllOutputs) {
          OutputSpec output;
          output.pixel_format = to;
          if (crop.height != 0) output.crop = crop;
          if (!output.Validate().ok()) continue;
          ExpectMatches(output, format, 37, 41, orientation, 5);
          ExpectMatches(output, format, 38, 40, orientation);
        }
      }
    }
  }
}

TEST(FrameConverterTest, OrientationCanBeSwitchedOff) {
  OutputSpec output;
  output.apply_rotation = false;
  ExpectMatches(output, AV_PIX_FMT_YUV420P, 18, 10, kTurned90);
}

TEST(FrameConverterTest, ResizeMethodsSizesAndCrops) {
  const int sizes[][2] = {{10, 14}, {64, 96}, {24, 7}, {1, 1}, {33, 90}, {33, 50}, {2, 200}};
  const Crop crops[] = {{0, 0, 0, 0}, {4, 6, 24, 40}, {3, 5, 21, 33}, {7, 1, 1, 1}};
  for (AVPixelFormat format : kYuvFormats) {
    for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                                ResizeMethod::kBicubic, ResizeMethod::kArea}) {
      for (const auto& size : sizes) {
        for (const Crop& crop : crops) {
          OutputSpec output;
          output.height = size[0];
          output.width = size[1];
          output.resize_method = method;
          if (crop.height != 0) output.crop = crop;
          ExpectMatches(output, format, 50, 33, {}, 3);
        }
      }
    }
  }
}

TEST(FrameConverterTest, ResizeOfTurnedFramesAndPackedOutputs) {
  for (AVPixelFormat format : kYuvFormats) {
    for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                                ResizeMethod::kBicubic, ResizeMethod::kArea}) {
      for (const Orientation& orientation : kOrientations) {
        for (PixelFormat to : kAllOutputs) {
          OutputSpec output;
          output.pixel_format = to;
          output.height = 18;
          output.width = 28;
          output.resize_method = method;
          ExpectMatches(output, format, 45, 31, orientation);
          output.crop = Crop{2, 4, 24, 26};
          ExpectMatches(output, format, 45, 31, orientation);
        }
      }
    }
  }
}

TEST(FrameConverterTest, BilinearChromaOfEverySiting) {
  const AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,
                                   AV_PIX_FMT_YUV440P10, AV_PIX_FMT_NV21};
  const AVChromaLocation sitings[] = {
      AVCHROMA_LOC_UNSPECIFIED, AVCHROMA_LOC_LEFT,       AVCHROMA_LOC_CENTER, AVCHROMA_LOC_TOPLEFT,
      AVCHROMA_LOC_TOP,         AVCHROMA_LOC_BOTTOMLEFT, AVCHROMA_LOC_BOTTOM};
  for (AVPixelFormat format : formats) {
    for (AVChromaLocation siting : sitings) {
      for (const Orientation& orientation : kOrientations) {
        for (int variant = 0; variant < 4; ++variant) {
          TestFrame frame(format, 35, 17, 3);
          frame.frame().chroma_location = siting;
          OutputSpec output;
          output.chroma_upsampling = ChromaUpsampling::kBilinear;
          if (variant == 1) output.crop = Crop{3, 1, 9, 13};
          if (variant == 2) output.height = 30, output.width = 20;
          if (variant == 3) output.pixel_format = PixelFormat::kYuv444p;
          ExpectMatches(output, SourceSpec::Of(frame.frame(), orientation), frame.frame());
        }
      }
    }
  }
}

TEST(FrameConverterTest, ElementTypesAndLayouts) {
  for (AVPixelFormat format :
       {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_GBRP16, AV_PIX_FMT_GRAY8}) {
    for (PixelFormat to : {PixelFormat::kRgb, PixelFormat::kBgr, PixelFormat::kGray}) {
      for (SampleType type :
           {SampleType::kUint8, SampleType::kUint16, SampleType::kFloat16, SampleType::kFloat32}) {
        for (Layout layout : {Layout::kThwc, Layout::kTchw}) {
          for (const Orientation& orientation : kOrientations) {
            for (int resized = 0; resized < 2; ++resized) {
              OutputSpec output;
              output.pixel_format = to;
              output.sample_type = type;
              output.layout = layout;
              if (resized) output.height = 9, output.width = 33;
              ExpectMatches(output, format, 43, 12, orientation);
              if (type <= SampleType::kUint16) continue;
              output.mean = {0.485f, 0.456f, 0.406f};
              output.std_dev = {0.229f, 0.224f, -0.225f};
              ExpectMatches(output, format, 43, 12, orientation);
            }
          }
        }
      }
    }
  }
}

TEST(FrameConverterTest, EveryWidthUpTo130) {
  for (int width = 1; width <= 130; ++width) {
    for (AVPixelFormat format :
         {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P, AV_PIX_FMT_NV12,
          AV_PIX_FMT_P010, AV_PIX_FMT_RGB24, AV_PIX_FMT_BGRA, AV_PIX_FMT_RGB48}) {
      OutputSpec output;
      ExpectMatches(output, format, width, 3);
      output.layout = Layout::kTchw;
      ExpectMatches(output, format, width, 3);
    }
  }
}

TEST(FrameConverterTest, NativeIsRawvideo) {
  TestFrame frame(AV_PIX_FMT_YUV420P10, 5, 3, 1, 6);
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  auto converter = FrameConverter::Create(output, SourceSpec::Of(frame.frame(), kTurned90));
  ASSERT_TRUE(converter.ok());
  EXPECT_EQ((*converter)->shape().height, 3);
  EXPECT_EQ((*converter)->shape().width, 5);
  EXPECT_EQ((*converter)->shape().channels, 0);
  std::vector<uint8_t> expected;
  const AVFrame& f = frame.frame();
  for (int p = 0; p < 3; ++p) {
    for (int y = 0; y < (p == 0 ? 3 : 2); ++y) {
      const uint8_t* row = f.data[p] + y * f.linesize[p];
      expected.insert(expected.end(), row, row + (p == 0 ? 10 : 6));
    }
  }
  std::vector<uint8_t> out((*converter)->shape().bytes);
  ASSERT_TRUE((*converter)->Convert(f, out.data()).ok());
  EXPECT_EQ(out, expected);
}

TEST(FrameConverterTest, CopiesAreExact) {
  struct Case {
    AVPixelFormat from;
    PixelFormat to;
  };
  const Case cases[] = {{AV_PIX_FMT_YUV420P, PixelFormat::kYuv420p},
                        {AV_PIX_FMT_NV12, PixelFormat::kNv12},
                        {AV_PIX_FMT_YUV444P, PixelFormat::kYuv444p},
                        {AV_PIX_FMT_P010, PixelFormat::kP010},
                        {AV_PIX_FMT_RGB24, PixelFormat::kRgb}};
  for (const Case& c : cases) {
    TestFrame frame(c.from, 167, 35, 1, 3);
    const SourceSpec source = SourceSpec::Of(frame.frame());
    OutputSpec output;
    output.pixel_format = c.to;
    auto converter = FrameConverter::Create(output, source);
    output.pixel_format = PixelFormat::kNative;
    auto native = FrameConverter::Create(output, source);
    ASSERT_TRUE(converter.ok() && native.ok());
    ASSERT_EQ((*converter)->shape().bytes, (*native)->shape().bytes);
    std::vector<uint8_t> ours((*native)->shape().bytes), stored(ours.size());
    ASSERT_TRUE((*converter)->Convert(frame.frame(), ours.data()).ok());
    ASSERT_TRUE((*native)->Convert(frame.frame(), stored.data()).ok());
    EXPECT_EQ(ours, stored) << Name(c.to);
  }
}

TEST(FrameConverterTest, RandomConversionsAgreeWithTheReference) {
  const AVPixelFormat formats[] = {
      AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,  AV_PIX_FMT_YUV444P,    AV_PIX_FMT_YUV440P,
      AV_PIX_FMT_YUV411P,   AV_PIX_FMT_YUV410P,  AV_PIX_FMT_YUV420P10,  AV_PIX_FMT_YUV422P10,
      AV_PIX_FMT_YUV444P12, AV_PIX_FMT_NV12,     AV_PIX_FMT_NV21,       AV_PIX_FMT_P010,
      AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,   AV_PIX_FMT_GBRP,       AV_PIX_FMT_GBRP10,
      AV_PIX_FMT_RGB24,     AV_PIX_FMT_BGRA,     AV_PIX_FMT_YUYV422,    AV_PIX_FMT_UYVY422,
      AV_PIX_FMT_PAL8,      AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVA420P,   AV_PIX_FMT_RGB48,
      AV_PIX_FMT_GBRAP12,   AV_PIX_FMT_YUV420P9, AV_PIX_FMT_YUV420P10BE};
  ForDrawnConversions(20, formats, 1500,
                      [](const OutputSpec& output, const SourceSpec& source, const AVFrame& frame) {
                        ExpectMatches(output, source, frame);
                      });
}

struct Refusal {
  const char* name;
  absl::StatusCode code;
  const char* text;
  OutputSpec output;
  SourceSpec source;
};

SourceSpec Source(AVPixelFormat format, Orientation orientation = {}) {
  SourceSpec source;
  source.width = 64;
  source.height = 48;
  source.format = format;
  source.orientation = orientation;
  return source;
}

TEST(FrameConverterTest, RefusesInvalidSpecsAndSources) {
  OutputSpec rgb, native, crop, turned_crop, invalid;
  native.pixel_format = PixelFormat::kNative;
  crop.crop = Crop{10, 0, 39, 64};
  turned_crop.crop = Crop{0, 0, 48, 64};
  invalid.height = -1;
  SourceSpec empty, ycgco = Source(AV_PIX_FMT_YUV420P);
  ycgco.color_space = AVCOL_SPC_YCGCO;
  const Refusal refusals[] = {
      {"crop", absl::StatusCode::kInvalidArgument, "height 48 and width 64", crop,
       Source(AV_PIX_FMT_YUV420P)},
      {"turned crop", absl::StatusCode::kInvalidArgument, "height 64 and width 48", turned_crop,
       Source(AV_PIX_FMT_YUV420P, kTurned90)},
      {"spec", absl::StatusCode::kInvalidArgument, "size", invalid, Source(AV_PIX_FMT_YUV420P)},
      {"no size", absl::StatusCode::kInvalidArgument, "0x0", rgb, empty},
      {"hardware", absl::StatusCode::kUnimplemented, "cuda", rgb, Source(AV_PIX_FMT_CUDA)},
      {"native hardware", absl::StatusCode::kUnimplemented, "cuda", native,
       Source(AV_PIX_FMT_CUDA)},
      {"bayer", absl::StatusCode::kUnimplemented, "bayer_rggb8", rgb,
       Source(AV_PIX_FMT_BAYER_RGGB8)},
      {"float", absl::StatusCode::kUnimplemented, "grayf32le", rgb, Source(AV_PIX_FMT_GRAYF32LE)},
      {"xyz", absl::StatusCode::kUnimplemented, "xyz12le", rgb, Source(AV_PIX_FMT_XYZ12LE)},
      {"uyyvyy", absl::StatusCode::kUnimplemented, "uyyvyy411", rgb, Source(AV_PIX_FMT_UYYVYY411)},
      {"none", absl::StatusCode::kUnimplemented, "-1", rgb, Source(AV_PIX_FMT_NONE)},
      {"matrix", absl::StatusCode::kUnimplemented, "ycgco", rgb, ycgco},
  };
  for (const Refusal& refusal : refusals) {
    const auto converter = FrameConverter::Create(refusal.output, refusal.source);
    EXPECT_EQ(converter.status().code(), refusal.code) << refusal.name;
    EXPECT_THAT(std::string(converter.status().message()), HasSubstr(refusal.text)) << refusal.name;
  }
}

TEST(FrameConverterTest, RefusesFramesOfAnotherSource) {
  auto converter = FrameConverter::Create(OutputSpec{}, Source(AV_PIX_FMT_YUV420P));
  ASSERT_TRUE(converter.ok());
  std::vector<uint8_t> out((*converter)->shape().bytes);
  TestFrame small(AV_PIX_FMT_YUV420P, 62, 48, 1), other(AV_PIX_FMT_YUV422P, 64, 48, 1);
  TestFrame right(AV_PIX_FMT_YUV420P, 64, 48, 1);
  EXPECT_EQ((*converter)->Convert(small.frame(), out.data()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*converter)->Convert(other.frame(), out.data()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*converter)->Convert(right.frame(), out.data()).ok());
  TestFrame palette(AV_PIX_FMT_PAL8, 64, 48, 1);
  auto from_palette = FrameConverter::Create(OutputSpec{}, Source(AV_PIX_FMT_PAL8));
  ASSERT_TRUE(from_palette.ok());
  palette.frame().data[1] = nullptr;
  EXPECT_EQ((*from_palette)->Convert(palette.frame(), out.data()).code(),
            absl::StatusCode::kInvalidArgument);
  right.frame().data[2] = nullptr;
  EXPECT_EQ((*converter)->Convert(right.frame(), out.data()).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nvc
