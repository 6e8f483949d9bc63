// Tests batches of frames on the fake driver of lazy_cuda.h, which runs queued work only when
// somebody waits for it.
#include "tf_nvcodec/nv/convert/gpu_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/testing/convert_reference.h"
#include "tests/nv/convert/lazy_frame.h"
#include "tests/nv/testing/lazy_cuda.h"

namespace nvc {
namespace {

using lazy_cuda::NewDevice;
using ::testing::HasSubstr;

using Bytes = std::vector<uint8_t>;

constexpr int kWidth = 34, kHeight = 18;
constexpr size_t kBytes = kWidth * kHeight * 3 / 2;

// A software frame, and the same as the decoder of `device` returns it.
class LazyFrame {
 public:
  LazyFrame(GpuDevice* device, uint32_t seed)
      : software_(AV_PIX_FMT_YUV420P, kWidth, kHeight, seed), decoded_(device, software_.frame()) {
    decoded_.picture().owner = nullptr;
  }

  const AVFrame& frame() { return decoded_.frame(); }
  const AVFrame& software() const { return software_.frame(); }

 private:
  TestFrame software_;
  lazy_cuda::DecodedFrame decoded_;
};

OutputSpec Native() {
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  return output;
}

Bytes Packed(const AVFrame& frame) {
  Bytes bytes(kBytes);
  auto converter = FrameConverter::Create(Native(), SourceSpec::Of(frame)).value();
  EXPECT_TRUE(converter->Convert(frame, bytes.data()).ok());
  return bytes;
}

class GpuTargetsTest : public ::testing::Test {
 protected:
  GpuTargetsTest() : device_(NewDevice()) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      frames_.push_back(std::make_unique<LazyFrame>(device_, seed));
    }
  }
  ~GpuTargetsTest() override {
    lazy_cuda::RunAll();
    lazy_cuda::TakeCalls();
  }

  Bytes Slot(size_t i) const {
    return Bytes(batch_.begin() + i * kBytes, batch_.begin() + (i + 1) * kBytes);
  }

  GpuDevice* const device_;
  std::vector<std::unique_ptr<LazyFrame>> frames_;
  Bytes batch_ = Bytes(4 * kBytes, 0xa5);
};

TEST_F(GpuTargetsTest, WritesDeviceMemoryInOrderWithoutWaiting) {
  DeviceTarget target(device_, lazy_cuda::Stream());
  const AVFrame& decoded = frames_[0]->frame();
  EXPECT_EQ(target.SourceOf(decoded, {}).format, AV_PIX_FMT_YUV420P);
  auto converter = target.NewConverter(Native(), decoded, {}).value();
  lazy_cuda::RunAll();
  ASSERT_TRUE(converter->Convert(decoded, batch_.data()).ok());
  ASSERT_TRUE(target.Copy(batch_.data() + kBytes, batch_.data(), kBytes).ok());
  converter.reset();
  ASSERT_TRUE(target.Finish().ok());
  EXPECT_EQ(Slot(0), Bytes(kBytes, 0xa5)) << "still queued";
  lazy_cuda::RunAll();
  EXPECT_EQ(Slot(0), Packed(frames_[0]->software()));
  EXPECT_EQ(Slot(1), Slot(0));
}

TEST_F(GpuTargetsTest, PicturesOfTheHostAreCopiedToTheDevice) {
  DeviceTarget target(device_, lazy_cuda::Stream());
  const AVFrame& software = frames_[1]->software();
  auto converter = target.NewConverter(Native(), software, {}).value();
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(converter->Convert(frames_[i]->software(), batch_.data() + i * kBytes).ok());
  }
  converter.reset();
  lazy_cuda::RunAll();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Slot(i), Packed(frames_[i]->software())) << i;
}

TEST_F(GpuTargetsTest, PicturesOfAnotherGpuAreRefused) {
  DeviceTarget target(NewDevice(), lazy_cuda::Stream());
  EXPECT_TRUE(absl::IsInternal(target.NewConverter(Native(), frames_[0]->frame(), {}).status()));
}

TEST_F(GpuTargetsTest, FramesReachTheHostWhenTheConverterIsDestroyed) {
  DownloadTarget target(device_);
  auto converter = target.NewConverter(Native(), frames_[0]->frame(), {}).value();
  ASSERT_TRUE(converter->Convert(frames_[0]->frame(), batch_.data()).ok());
  EXPECT_EQ(Slot(0), Bytes(kBytes, 0xa5)) << "nobody waited";
  // The frame that is copied has not reached the host yet.
  ASSERT_TRUE(target.Copy(batch_.data() + 2 * kBytes, batch_.data(), kBytes).ok());
  ASSERT_TRUE(converter->Convert(frames_[1]->frame(), batch_.data() + kBytes).ok());
  EXPECT_EQ(Slot(0), Packed(frames_[0]->software()));
  EXPECT_EQ(Slot(1), Bytes(kBytes, 0xa5));
  converter.reset();
  EXPECT_EQ(Slot(1), Packed(frames_[1]->software()));
  EXPECT_EQ(Slot(2), Bytes(kBytes, 0xa5));
  ASSERT_TRUE(target.Copy(batch_.data() + 3 * kBytes, batch_.data() + 2 * kBytes, kBytes).ok());
  ASSERT_TRUE(target.Finish().ok());
  EXPECT_EQ(Slot(2), Slot(0));
  EXPECT_EQ(Slot(3), Slot(0)) << "a copy of a copy";
}

TEST_F(GpuTargetsTest, ALaterHostFrameReplacesTheGpus) {
  DownloadTarget target(device_);
  auto converter = target.NewConverter(Native(), frames_[0]->frame(), {}).value();
  ASSERT_TRUE(converter->Convert(frames_[0]->frame(), batch_.data()).ok());
  converter.reset();
  converter = target.NewConverter(Native(), frames_[1]->software(), {}).value();
  ASSERT_TRUE(converter->Convert(frames_[1]->software(), batch_.data()).ok());
  EXPECT_EQ(Slot(0), Packed(frames_[1]->software()));
}

TEST_F(GpuTargetsTest, StreamsAndMemoryAreReused) {
  int objects = 0;
  for (int i = 0; i < 10; ++i) {
    DownloadTarget target(device_);
    auto converter = target.NewConverter(Native(), frames_[0]->frame(), {}).value();
    ASSERT_TRUE(converter->Convert(frames_[i % 3]->frame(), batch_.data()).ok());
    converter.reset();
    ASSERT_TRUE(target.Finish().ok());
    EXPECT_EQ(Slot(0), Packed(frames_[i % 3]->software()));
    if (i == 0) objects = lazy_cuda::Objects();
  }
  EXPECT_EQ(lazy_cuda::Objects(), objects);
}

TEST_F(GpuTargetsTest, FailuresAtTheEndAreReported) {
  DownloadTarget target(device_);
  auto converter = target.NewConverter(Native(), frames_[0]->frame(), {}).value();
  ASSERT_TRUE(converter->Convert(frames_[0]->frame(), batch_.data()).ok());
  lazy_cuda::FailNext("d2h", 700);
  converter.reset();
  const absl::Status finished = target.Finish();
  EXPECT_TRUE(absl::IsInternal(finished)) << finished;
  EXPECT_THAT(finished.message(), HasSubstr("to the host"));
  EXPECT_EQ(Slot(0), Bytes(kBytes, 0xa5));
}

TEST_F(GpuTargetsTest, OutOfMemoryForAFrame) {
  // Uses new devices, for which no download buffers are kept yet.
  GpuDevice* const device = NewDevice();
  LazyFrame decoded(device, 5);
  DownloadTarget target(device);
  ASSERT_TRUE(target.NewConverter(Native(), decoded.frame(), {}).ok());
  GpuDevice* const other = NewDevice();
  LazyFrame on_other(other, 5);
  DownloadTarget full(other);
  lazy_cuda::FailNext("cuMemAlloc", 2);
  const absl::Status status = full.NewConverter(Native(), on_other.frame(), {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(full.NewConverter(Native(), on_other.frame(), {}).ok()) << "the next one works";
}

}  // namespace
}  // namespace nvc
