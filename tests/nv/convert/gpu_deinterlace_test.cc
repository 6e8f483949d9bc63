// Compares deinterlacing on the GPU with that on the CPU. The fake driver of lazy_cuda.h runs the
// GPU's kernels on the host, and only when somebody waits for them.
#include "tf_nvcodec/nv/convert/gpu_deinterlace.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/nv/convert/lazy_frame.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

using lazy_cuda::DecodedFrame;
using ::testing::ElementsAre;

OutputSpec Output(PixelFormat format) {
  OutputSpec output;
  output.pixel_format = format;
  output.deinterlace = Deinterlace::kBob;
  return output;
}

std::vector<uint8_t> OnCpu(const OutputSpec& output, const AVFrame& frame) {
  auto converter = FrameConverter::Create(output, SourceSpec::Of(frame));
  EXPECT_TRUE(converter.ok()) << converter.status();
  std::vector<uint8_t> out((*converter)->shape().bytes);
  EXPECT_TRUE((*converter)->Convert(frame, out.data()).ok());
  return out;
}

TEST(GpuDeinterlaceTest, EqualsTheCpu) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                                     AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8}) {
    for (const int height : {2, 18, 27}) {
      TestFrame test(format, 50, height, 5);
      AVFrame& frame = test.frame();
      const OutputSpec output = Output(PixelFormat::kNative);
      auto converter =
          NewGpuFrameConverter(device, lazy_cuda::Stream(), output, SourceSpec::Of(frame));
      ASSERT_TRUE(converter.ok()) << converter.status();
      // One converter takes progressive and interlaced frames in any order.
      for (const int kind : {1, 2, 0, 2, 1}) {
        SetFields(kind != 0, kind == 2, &frame);
        DecodedFrame decoded(device, frame);
        std::vector<uint8_t> out((*converter)->shape().bytes);
        const absl::Status status = (*converter)->Convert(decoded.frame(), out.data());
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(decoded.used(), 1);
        lazy_cuda::RunAll();
        EXPECT_EQ(out, OnCpu(output, frame))
            << av_get_pix_fmt_name(format) << " of " << height << " rows, kind " << kind;
      }
    }
  }
}

TEST(GpuDeinterlaceTest, ComesBeforeTheColourConversion) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  TestFrame test(AV_PIX_FMT_YUV420P, 64, 40, 7);
  SetFields(true, false, &test.frame());
  OutputSpec output = Output(PixelFormat::kRgb);
  output.crop = Crop{3, 5, 30, 40};
  output.height = 12;
  output.width = 20;
  auto converter =
      NewGpuFrameConverter(device, lazy_cuda::Stream(), output, SourceSpec::Of(test.frame()));
  ASSERT_TRUE(converter.ok()) << converter.status();
  DecodedFrame decoded(device, test.frame());
  std::vector<uint8_t> out((*converter)->shape().bytes);
  ASSERT_TRUE((*converter)->Convert(decoded.frame(), out.data()).ok());
  lazy_cuda::RunAll();
  const std::vector<uint8_t> want = OnCpu(output, test.frame());
  for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], want[i], 1) << i;
}

TEST(GpuDeinterlaceTest, WaitsForThePictureAndHoldsItUntilItIsRead) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  TestFrame test(AV_PIX_FMT_YUV420P, 64, 40, 7);
  SetFields(true, false, &test.frame());
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), Output(PixelFormat::kGray),
                                        SourceSpec::Of(test.frame()));
  ASSERT_TRUE(converter.ok()) << converter.status();
  DecodedFrame decoded(device, test.frame());
  lazy_cuda::TakeCalls();
  std::vector<uint8_t> out((*converter)->shape().bytes);
  ASSERT_TRUE((*converter)->Convert(decoded.frame(), out.data()).ok());
  EXPECT_THAT(decoded.calls_when_used(), ElementsAre("wait", "bob", "bob"));
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("launch"));
  EXPECT_EQ(decoded.used(), 1);
  lazy_cuda::RunAll();
}

TEST(GpuDeinterlaceTest, FailuresAreReportedAndReleaseThePicture) {
  GpuDevice* const device = lazy_cuda::NewDevice();
  TestFrame test(AV_PIX_FMT_YUV420P, 64, 40, 7);
  SetFields(true, false, &test.frame());
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), Output(PixelFormat::kGray),
                                        SourceSpec::Of(test.frame()));
  ASSERT_TRUE(converter.ok()) << converter.status();
  std::vector<uint8_t> out((*converter)->shape().bytes);
  DecodedFrame decoded(device, test.frame());
  lazy_cuda::FailNext("cuMemAlloc", kCudaOutOfMemory);
  EXPECT_EQ((*converter)->Convert(decoded.frame(), out.data()).code(),
            absl::StatusCode::kResourceExhausted);
  lazy_cuda::FailNext("bob", kCudaInvalidValue);
  EXPECT_FALSE((*converter)->Convert(decoded.frame(), out.data()).ok());
  EXPECT_TRUE((*converter)->Convert(decoded.frame(), out.data()).ok());
  EXPECT_EQ(decoded.used(), 2);
  lazy_cuda::RunAll();
}

}  // namespace
}  // namespace nvc
