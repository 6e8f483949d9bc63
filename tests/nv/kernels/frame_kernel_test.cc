// Runs the colour kernel on the host and compares it with the float64 reference.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_checks.h"
#include "tests/core/testing/convert_draw.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/core/testing/orientations.h"
#include "tests/nv/testing/host_kernel.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

const PixelFormat kAllOutputs[] = {PixelFormat::kRgb,  PixelFormat::kBgr,     PixelFormat::kGray,
                                   PixelFormat::kNv12, PixelFormat::kYuv420p, PixelFormat::kYuv444p,
                                   PixelFormat::kP010};
// Every sample format that NVDEC decodes to.
const AVPixelFormat kFormats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV420P12,
                                  AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV444P12,
                                  AV_PIX_FMT_GRAY8,   AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY12,
                                  AV_PIX_FMT_YUVJ420P};
const AVPixelFormat kFewFormats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                                     AV_PIX_FMT_YUV444P12};

double ExpectKernelMatches(const OutputSpec& output, const SourceSpec& source,
                           const AVFrame& frame) {
  return ExpectMatches(NewHostKernelConverter(output, source), output, source, frame);
}

double ExpectKernelMatches(const OutputSpec& output, AVPixelFormat format, int width, int height,
                           Orientation orientation = {}) {
  TestFrame frame(format, width, height, 7);
  return ExpectKernelMatches(output, SourceSpec::Of(frame.frame(), orientation), frame.frame());
}

TEST(GpuFrameKernelTest, ColourOfEverySpaceRangeAndDepth) {
  double worst = 0;
  for (AVPixelFormat format : kFormats) {
    for (AVColorSpace space : {AVCOL_SPC_SMPTE170M, AVCOL_SPC_BT709, AVCOL_SPC_BT2020_NCL}) {
      for (AVColorRange range : {AVCOL_RANGE_MPEG, AVCOL_RANGE_JPEG}) {
        for (PixelFormat to : kAllOutputs) {
          TestFrame frame(format, 70, 14, 11);
          frame.frame().colorspace = space;
          frame.frame().color_range = range;
          OutputSpec output;
          output.pixel_format = to;
          const SourceSpec source = SourceSpec::Of(frame.frame());
          worst = std::max(worst, ExpectKernelMatches(output, source, frame.frame()));
          output.height = 10, output.width = 34;
          worst = std::max(worst, ExpectKernelMatches(output, source, frame.frame()));
        }
      }
    }
  }
  // Single precision rarely rounds to another code value than the reference.
  EXPECT_LT(worst, 0.01);
}

// Draws formats, sizes, crops, orientations, resize methods, chroma sitings, types and layouts.
TEST(GpuFrameKernelTest, RandomConversions) {
  ForDrawnConversions(31, kFormats, 5000,
                      [](const OutputSpec& output, const SourceSpec& source, const AVFrame& frame) {
                        ExpectKernelMatches(output, source, frame);
                      });
}

std::vector<uint8_t> Converted(absl::StatusOr<std::unique_ptr<FrameConverter>> converter,
                               const AVFrame& frame) {
  EXPECT_TRUE(converter.ok()) << converter.status();
  if (!converter.ok()) return {};
  std::vector<uint8_t> out((*converter)->shape().bytes, 0xa5);
  EXPECT_TRUE((*converter)->Convert(frame, out.data()).ok());
  return out;
}

// Where samples are only copied or shifted to another depth, the GPU gives the same bytes as the
// CPU.
TEST(GpuFrameKernelTest, SameBytesAsTheCpuWhereNothingIsComputed) {
  for (AVPixelFormat format : kFormats) {
    for (PixelFormat to : {PixelFormat::kNative, PixelFormat::kNv12, PixelFormat::kYuv420p,
                           PixelFormat::kYuv444p, PixelFormat::kP010}) {
      for (const Orientation& orientation : kOrientations) {
        for (int width : {67, 64, 1}) {
          TestFrame frame(format, width, 35, 1, 3);
          frame.frame().color_range =
              format == AV_PIX_FMT_YUVJ420P ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
          const SourceSpec source = SourceSpec::Of(frame.frame(), orientation);
          OutputSpec output;
          output.pixel_format = to;
          EXPECT_EQ(Converted(NewHostKernelConverter(output, source), frame.frame()),
                    Converted(FrameConverter::Create(output, source), frame.frame()))
              << format << " to " << Name(to) << " width " << width;
        }
      }
    }
  }
}

TEST(GpuFrameKernelTest, AnyAlignmentOfTheOutputAndThePicture) {
  for (SampleType type : {SampleType::kUint8, SampleType::kFloat16, SampleType::kFloat32}) {
    for (Layout layout : {Layout::kThwc, Layout::kTchw}) {
      OutputSpec output;
      output.sample_type = type;
      output.layout = layout;
      const size_t element = SampleSize(type);
      for (int left = 0; left < 9; ++left) {
        output.crop = Crop{1, left, 5, 33};
        TestFrame frame(AV_PIX_FMT_YUV420P, 50, 7, 2);
        const SourceSpec source = SourceSpec::Of(frame.frame());
        const std::vector<uint8_t> expected =
            Converted(NewHostKernelConverter(output, source), frame.frame());
        for (int padding : {0, 4, 8, 12}) {
          for (size_t offset = 0; offset < 16; offset += element) {
            auto converter = NewHostKernelConverter(output, source, padding);
            ASSERT_TRUE(converter.ok());
            std::vector<uint8_t> out(offset + expected.size() + 16, 0xa5);
            ASSERT_TRUE((*converter)->Convert(frame.frame(), out.data() + offset).ok());
            const auto begin = out.begin() + static_cast<ptrdiff_t>(offset);
            const auto end = begin + static_cast<ptrdiff_t>(expected.size());
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), begin));
            // The bytes around the output are untouched.
            EXPECT_EQ(std::count(out.begin(), begin, 0xa5), static_cast<ptrdiff_t>(offset));
            EXPECT_EQ(std::count(end, out.end(), 0xa5), 16);
          }
        }
      }
    }
  }
}

// Several threads share the work of a large window.
TEST(GpuFrameKernelTest, AreaOfLargeWindows) {
  for (AVPixelFormat format : kFewFormats) {
    for (const Orientation& orientation : {Orientation{}, kTurned90}) {
      for (const auto& size : {std::pair(1, 1), std::pair(2, 40), std::pair(30, 3)}) {
        for (SampleType type : {SampleType::kUint8, SampleType::kFloat32}) {
          OutputSpec output;
          output.sample_type = type;
          output.resize_method = ResizeMethod::kArea;
          output.height = size.first, output.width = size.second;
          ExpectKernelMatches(output, format, 333, 171, orientation);
        }
      }
    }
  }
}

SourceSpec Source(AVPixelFormat format, int width, int height) {
  SourceSpec source;
  source.format = format;
  source.width = width;
  source.height = height;
  return source;
}

TEST(GpuFrameKernelTest, RefusesAsTheCpuDoes) {
  OutputSpec rgb, crop, invalid;
  crop.crop = Crop{10, 0, 39, 64};
  invalid.height = -1;
  SourceSpec plain = Source(AV_PIX_FMT_YUV420P, 64, 48), ycgco = plain;
  ycgco.color_space = AVCOL_SPC_YCGCO;
  const std::pair<OutputSpec, SourceSpec> refused[] = {
      {crop, plain}, {invalid, plain}, {rgb, ycgco}, {rgb, SourceSpec()}};
  for (const auto& [output, source] : refused) {
    const absl::Status cpu = FrameConverter::Create(output, source).status();
    EXPECT_FALSE(cpu.ok());
    EXPECT_EQ(MakeFrameKernelPlan(output, source).status(), cpu);
  }
  for (AVPixelFormat format : {AV_PIX_FMT_YUV422P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P10BE,
                               AV_PIX_FMT_GBRP, AV_PIX_FMT_YUVA420P, AV_PIX_FMT_PAL8,
                               AV_PIX_FMT_CUDA, AV_PIX_FMT_MONOWHITE, AV_PIX_FMT_P010LE}) {
    const absl::Status status = MakeFrameKernelPlan(rgb, Source(format, 64, 48)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << format;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(av_get_pix_fmt_name(format)));
  }
}

TEST(GpuFrameKernelTest, LayoutsOfTheDecoder) {
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_YUV420P), AV_PIX_FMT_NV12);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_GRAY8), AV_PIX_FMT_NV12);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_YUV420P12LE), AV_PIX_FMT_P016LE);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_GRAY10LE), AV_PIX_FMT_P016LE);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_YUV444P), AV_PIX_FMT_YUV444P);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_YUV444P10LE), AV_PIX_FMT_YUV444P16LE);
  EXPECT_EQ(GpuLayoutOf(AV_PIX_FMT_NONE), AV_PIX_FMT_NONE);
}

// Compiling a kernel takes about 100 ms, so clips of many sizes must share a few kernels.
TEST(GpuFrameKernelTest, ManySizesShareFewKernels) {
  std::set<std::string> kernels;
  for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                              ResizeMethod::kBicubic, ResizeMethod::kArea}) {
    for (int width = 320; width < 2000; width += 38) {
      OutputSpec output;
      output.resize_method = method;
      output.height = output.width = 224;
      const auto plan =
          MakeFrameKernelPlan(output, Source(AV_PIX_FMT_YUV420P, width, width * 9 / 16));
      ASSERT_TRUE(plan.ok());
      ASSERT_EQ(plan->jobs.size(), 1u);
      kernels.insert(absl::StrJoin(KernelMacros(plan->jobs[0].config), " "));
    }
  }
  EXPECT_LE(kernels.size(), 14u);
}

TEST(GpuFrameKernelTest, WholeFramesAreConvertedEightPixelsAtATimeWithoutTables) {
  const auto plan = MakeFrameKernelPlan(OutputSpec{}, Source(AV_PIX_FMT_YUV420P, 1920, 1080));
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->jobs.size(), 1u);
  EXPECT_EQ(plan->jobs[0].config.pixels, 8);
  EXPECT_TRUE(plan->tables.empty());
}

// An area resize must read only the samples that each output pixel covers.
TEST(GpuFrameKernelTest, AreaReadsOnlyWhatItCovers) {
  OutputSpec output;
  output.resize_method = ResizeMethod::kArea;
  output.height = output.width = 224;
  const auto plan = MakeFrameKernelPlan(output, Source(AV_PIX_FMT_YUV420P, 1920, 1080));
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(plan->jobs[0].params.x[0].taps, 10);
  EXPECT_LE(plan->jobs[0].params.y[0].taps, 6);
  EXPECT_EQ(plan->jobs[0].config.lanes, 8);
  output.height = output.width = 32;
  EXPECT_EQ(
      MakeFrameKernelPlan(output, Source(AV_PIX_FMT_YUV420P, 1920, 1080))->jobs[0].config.lanes,
      32);
}

}  // namespace
}  // namespace nvc
