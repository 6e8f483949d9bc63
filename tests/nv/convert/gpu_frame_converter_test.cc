// Tests the GPU's converter on the fake driver of lazy_cuda.h, which runs the kernels on the host,
// and only when somebody waits for them.
#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/convert_checks.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/nv/convert/lazy_frame.h"
#include "tests/nv/testing/lazy_cuda.h"

namespace nvc {
namespace {

using lazy_cuda::DecodedFrame;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lays software frames out like decoded GPU pictures, so that the reference can convert them too.
class UploadingConverter : public FrameConverter {
 public:
  UploadingConverter(GpuDevice* device, std::unique_ptr<FrameConverter> converter)
      : FrameConverter(converter->source(), converter->shape()),
        device_(device),
        converter_(std::move(converter)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    DecodedFrame decoded(device_, frame);
    const absl::Status status = converter_->Convert(decoded.frame(), out);
    lazy_cuda::RunAll();
    EXPECT_EQ(decoded.used(), 1);
    return status;
  }

 private:
  GpuDevice* device_;
  std::unique_ptr<FrameConverter> converter_;
};

absl::StatusOr<std::unique_ptr<FrameConverter>> NewUploading(GpuDevice* device,
                                                             const OutputSpec& output,
                                                             const SourceSpec& source) {
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source);
  if (!converter.ok()) return converter.status();
  return std::make_unique<UploadingConverter>(device, *std::move(converter));
}

TEST(GpuFrameConverterTest, AgreesWithTheReference) {
  GpuDevice* device = lazy_cuda::NewDevice();
  // Two of these differ in each part of an orientation alone. Fewer conversions than the cache
  // keeps.
  const Orientation orientations[] = {
      {}, {true, false, false}, {true, true, false}, {true, false, true}};
  for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                               AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8}) {
    for (PixelFormat to : {PixelFormat::kRgb, PixelFormat::kGray, PixelFormat::kNv12,
                           PixelFormat::kYuv420p, PixelFormat::kP010}) {
      for (const Orientation& orientation : orientations) {
        for (int resized = 0; resized < 2; ++resized) {
          OutputSpec output;
          output.pixel_format = to;
          if (resized) output.height = 18, output.width = 12;
          TestFrame frame(format, 50, 26, 5);
          const SourceSpec source = SourceSpec::Of(frame.frame(), orientation);
          ExpectMatches(NewUploading(device, output, source), output, source, frame.frame());
        }
      }
    }
  }
}

TEST(GpuFrameConverterTest, QueuesInOrderWithoutWaiting) {
  GpuDevice* device = lazy_cuda::NewDevice();
  TestFrame software(AV_PIX_FMT_YUV420P, 34, 18, 1);
  DecodedFrame decoded(device, software.frame());
  const SourceSpec source = GpuSourceSpec(decoded.frame());
  EXPECT_EQ(source.format, AV_PIX_FMT_YUV420P);
  OutputSpec output;
  output.pixel_format = PixelFormat::kNv12;
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source);
  ASSERT_TRUE(converter.ok()) << converter.status();
  lazy_cuda::RunAll();
  lazy_cuda::TakeCalls();
  std::vector<uint8_t> out((*converter)->shape().bytes, 0xa5);
  const std::vector<uint8_t> before = out;
  ASSERT_TRUE((*converter)->Convert(decoded.frame(), out.data()).ok());
  EXPECT_EQ(out, before);
  EXPECT_THAT(decoded.calls_when_used(), ElementsAre("wait", "launch", "launch"));
  EXPECT_EQ(lazy_cuda::Pending(), 3u);
  lazy_cuda::RunAll();
  EXPECT_NE(out, before);
}

TEST(GpuFrameConverterTest, TheSecondConverterReusesKernelAndTables) {
  GpuDevice* device = lazy_cuda::NewDevice();
  SourceSpec source;
  source.width = 64, source.height = 48, source.format = AV_PIX_FMT_YUV420P;
  OutputSpec output;
  output.height = 31, output.width = 17;
  ASSERT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).ok());
  const int modules = lazy_cuda::ModulesLoaded(), objects = lazy_cuda::Objects();
  lazy_cuda::TakeCalls();
  ASSERT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).ok());
  EXPECT_EQ(lazy_cuda::Objects(), objects);
  // Another stream may still be uploading its tables, so the converter waits for them on the GPU.
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("wait"));
  // Another size needs other tables, but the same kernel.
  output.height = 23;
  ASSERT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).ok());
  EXPECT_EQ(lazy_cuda::ModulesLoaded(), modules);
  EXPECT_EQ(lazy_cuda::Objects(), objects + 2);
}

TEST(GpuFrameConverterTest, OldTablesAreFreed) {
  GpuDevice* device = lazy_cuda::NewDevice();
  SourceSpec source;
  source.width = 640, source.height = 480, source.format = AV_PIX_FMT_YUV420P;
  OutputSpec output;
  for (int size = 8; size < 700; ++size) {
    output.height = output.width = size == 640 ? 641 : size;
    ASSERT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).ok());
  }
  EXPECT_LE(lazy_cuda::Objects(), 2 * 256);
}

TEST(GpuFrameConverterTest, OneCompilationForManyThreads) {
  GpuDevice* device = lazy_cuda::NewDevice();
  SourceSpec source;
  source.width = 64, source.height = 48, source.format = AV_PIX_FMT_YUV420P;
  const int modules = lazy_cuda::ModulesLoaded();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), OutputSpec{}, source).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lazy_cuda::ModulesLoaded(), modules + 1);
}

TEST(GpuFrameConverterTest, FailuresAreReportedAndNotCached) {
  SourceSpec source;
  source.width = 64, source.height = 48, source.format = AV_PIX_FMT_YUV420P;
  OutputSpec output;
  output.height = 20, output.width = 30;
  for (const char* function :
       {"cuModuleLoadData", "cuMemAlloc", "cuEventCreate", "h2d", "record"}) {
    GpuDevice* device = lazy_cuda::NewDevice();
    const int objects = lazy_cuda::Objects();
    lazy_cuda::FailNext(function, 2);
    const absl::Status status =
        NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << function << ": " << status;
    EXPECT_EQ(lazy_cuda::Objects(), objects) << function;
    EXPECT_TRUE(NewGpuFrameConverter(device, lazy_cuda::Stream(), output, source).ok()) << function;
  }
}

TEST(GpuFrameConverterTest, AFailedLaunchStillHoldsThePicture) {
  GpuDevice* device = lazy_cuda::NewDevice();
  TestFrame software(AV_PIX_FMT_YUV420P, 34, 18, 1);
  DecodedFrame decoded(device, software.frame());
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), OutputSpec{},
                                        GpuSourceSpec(decoded.frame()));
  ASSERT_TRUE(converter.ok());
  std::vector<uint8_t> out((*converter)->shape().bytes);
  lazy_cuda::FailNext("launch", 700);
  const absl::Status status = (*converter)->Convert(decoded.frame(), out.data());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("colour kernel"));
  EXPECT_EQ(decoded.used(), 1);
}

TEST(GpuFrameConverterTest, RefusesOtherPictures) {
  GpuDevice* device = lazy_cuda::NewDevice();
  TestFrame software(AV_PIX_FMT_YUV420P, 34, 18, 1), small(AV_PIX_FMT_YUV420P, 32, 18, 1);
  DecodedFrame decoded(device, software.frame()), other(device, small.frame());
  auto converter = NewGpuFrameConverter(device, lazy_cuda::Stream(), OutputSpec{},
                                        GpuSourceSpec(decoded.frame()));
  ASSERT_TRUE(converter.ok());
  std::vector<uint8_t> out((*converter)->shape().bytes);
  const auto code = [&](const AVFrame& frame) {
    return (*converter)->Convert(frame, out.data()).code();
  };
  EXPECT_EQ(code(software.frame()), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(other.frame()), absl::StatusCode::kInvalidArgument);
  DecodedFrame elsewhere(lazy_cuda::NewDevice(), software.frame());
  EXPECT_EQ(code(elsewhere.frame()), absl::StatusCode::kInvalidArgument);
  decoded.picture().layout = AV_PIX_FMT_P016LE;
  EXPECT_EQ(code(decoded.frame()), absl::StatusCode::kInternal);
  EXPECT_EQ(GpuSourceSpec(software.frame()).format, AV_PIX_FMT_NONE);
  EXPECT_EQ(NewGpuFrameConverter(device, lazy_cuda::Stream(), OutputSpec{},
                                 GpuSourceSpec(software.frame()))
                .status()
                .code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace nvc
