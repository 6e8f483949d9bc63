// Compares the kernels that convert samples to the planes that NVENC reads with the frame loader of
// core/encode. The fake driver of lazy_cuda.h runs the kernels on the host, and only when somebody
// waits for them.
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nv/encode/encoder_frames.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The build puts the fake compiler here.
const bool kFolderSet = (SetNvrtcFolders({"tests/nv/testing"}), true);

constexpr SampleType kTypes[] = {SampleType::kUint8, SampleType::kUint16, SampleType::kFloat16,
                                 SampleType::kFloat32};
constexpr std::pair<int, int> kSizes[] = {{96, 64}, {67, 5}, {7, 6}, {1, 1}};

// A frame of noise that has all values, with many at the ends of the scale. Floats go a little
// beyond [0, 1].
class Frame {
 public:
  Frame(PixelFormat format, SampleType type, int width, int height) {
    batch.pixel_format = format;
    batch.sample_type = type;
    batch.width = width;
    batch.height = height;
    batch.count = 1;
    batch.frame_bytes = *FrameBytes(format, type, height, width);
    // Memory of 32-bit words is aligned for every sample type.
    memory_.resize(batch.frame_bytes / sizeof(uint32_t) + 1);
    batch.data = memory_.data();
    std::mt19937 draw(5);
    std::uniform_real_distribution<float> any(-0.2f, 1.2f);
    for (size_t at = 0; at < batch.frame_bytes;) {
      if (type == SampleType::kFloat32) {
        at += Put(at, any(draw));
      } else if (type == SampleType::kFloat16) {
        // Halfs from 0 to 2, with subnormals.
        at += Put(at, static_cast<uint16_t>(draw() % 0x4001));
      } else {
        const uint32_t value = draw();
        at += Put(at, static_cast<uint8_t>(value % 7 == 0 ? 0 : value % 5 == 0 ? 255 : value >> 8));
      }
    }
  }

  template <typename T>
  size_t Put(size_t at, T value) {
    std::memcpy(reinterpret_cast<uint8_t*>(memory_.data()) + at, &value, sizeof(value));
    return sizeof(value);
  }

  FrameBatch batch;

 private:
  std::vector<uint32_t> memory_;
};

class GpuToPlanesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto input = GpuFrameInput::Create(lazy_cuda::NewDevice());
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *std::move(input);
  }

  std::vector<uint8_t> Converted(const void* samples, size_t bytes, const StreamSpec& stream,
                                 const GpuToPlanes& converter) {
    EXPECT_EQ(converter.frame_bytes(), bytes);
    const AvFramePtr frame = NewFrame(stream);
    const GpuRows rows[] = {{reinterpret_cast<CUdeviceptr>(samples), bytes, 1, 0}};
    const absl::Status status = input_->ConvertTo(frame.get(), rows, converter);
    EXPECT_TRUE(status.ok()) << status;
    found_out_of_range_ = converter.found_out_of_range();
    return Packed(*frame, stream);
  }

  std::vector<uint8_t> OnTheGpu(const FrameBatch& frames, const StreamSpec& stream) {
    const auto converter = GpuPlanesConverter::Create(input_->device(), frames, stream);
    EXPECT_TRUE(converter.ok()) << converter.status();
    return Converted(frames.data, frames.frame_bytes, stream, **converter);
  }

  std::vector<uint8_t> RgbOnTheGpu(const void* pixels, const RgbPixel& pixel,
                                   const StreamSpec& stream) {
    const auto converter = GpuRgbConverter::Create(input_->device(), stream, pixel);
    EXPECT_TRUE(converter.ok()) << converter.status();
    const auto bytes = static_cast<size_t>(stream.width * stream.height * pixel.bytes);
    return Converted(pixels, bytes, stream, **converter);
  }

  void ExpectTheHosts(PixelFormat format, SampleType type) {
    for (const auto& [width, height] : kSizes) {
      const Frame frame(format, type, width, height);
      for (const AVPixelFormat layout : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P}) {
        for (const ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt2020}) {
          for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
            StreamSpec stream = Stream(layout, width, height);
            stream.color_space = space;
            stream.color_range = range;
            EXPECT_TRUE(OnTheGpu(frame.batch, stream) == OnTheHost(frame.batch, stream))
                << Name(format) << " " << Name(type) << " to " << layout << ", " << width << "x"
                << height << ", " << Name(space) << " " << Name(range);
            EXPECT_FALSE(found_out_of_range_);
          }
        }
      }
    }
  }

  std::unique_ptr<GpuFrameInput> input_;
  bool found_out_of_range_ = false;
};

TEST_F(GpuToPlanesTest, RgbOfEveryTypeEqualsTheHosts) {
  for (const SampleType type : kTypes) {
    // The host converts bytes with integers, as GpuRgbConverter does, which is tested below.
    if (type == SampleType::kUint8) continue;
    ExpectTheHosts(PixelFormat::kRgb, type);
    ExpectTheHosts(PixelFormat::kBgr, type);
  }
}

TEST_F(GpuToPlanesTest, GrayOfEveryTypeEqualsTheHosts) {
  for (const SampleType type : kTypes) ExpectTheHosts(PixelFormat::kGray, type);
}

TEST_F(GpuToPlanesTest, PackedFramesEqualTheHosts) {
  for (const PixelFormat format :
       {PixelFormat::kNv12, PixelFormat::kYuv420p, PixelFormat::kYuv444p, PixelFormat::kP010}) {
    ExpectTheHosts(format, SampleType::kUint8);
  }
}

TEST_F(GpuToPlanesTest, FloatsOutOfRangeAreFound) {
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {kNan, -kNan, std::numeric_limits<float>::infinity(), -1.01f, 2.01f}) {
    Frame frame(PixelFormat::kRgb, SampleType::kFloat32, 16, 8);
    frame.Put(frame.batch.frame_bytes - sizeof(value), value);
    OnTheGpu(frame.batch, stream);
    EXPECT_TRUE(found_out_of_range_) << value;
  }
  // These halfs are both infinities, NaN, the largest one, and the one just below -1.
  for (const uint16_t bits : {0x7c00, 0xfc00, 0x7e00, 0x7bff, 0xbc01}) {
    Frame frame(PixelFormat::kGray, SampleType::kFloat16, 16, 8);
    frame.Put(0, bits);
    OnTheGpu(frame.batch, stream);
    EXPECT_TRUE(found_out_of_range_) << bits;
  }
  Frame frame(PixelFormat::kGray, SampleType::kFloat16, 16, 8);
  frame.Put(0, uint16_t{0xbc00});  // -1
  frame.Put(2, uint16_t{0x4000});  // 2
  OnTheGpu(frame.batch, stream);
  EXPECT_FALSE(found_out_of_range_);
}

TEST_F(GpuToPlanesTest, UsesOnlyTheGpu) {
  const Frame frame(PixelFormat::kRgb, SampleType::kFloat32, 16, 8);
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  OnTheGpu(frame.batch, stream);
  RgbOnTheGpu(frame.batch.data, {}, stream);
  lazy_cuda::TakeCalls();
  OnTheGpu(frame.batch, stream);
  RgbOnTheGpu(frame.batch.data, {}, stream);
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("planes", "rgb"));
  EXPECT_EQ(lazy_cuda::Pending(), 0u);
}

TEST_F(GpuToPlanesTest, FailuresAreReportedAndLeaveNothing) {
  const Frame frame(PixelFormat::kP010, SampleType::kUint8, 16, 8);
  const absl::Status other =
      GpuPlanesConverter::Create(input_->device(), frame.batch, Stream(AV_PIX_FMT_NV12, 16, 8))
          .status();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(other.message()), HasSubstr("p010 frames become yuv420p or yuv444p"));
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  const int before = lazy_cuda::Objects();
  lazy_cuda::FailNext("cuMemHostAlloc", kCudaOutOfMemory);
  EXPECT_EQ(GpuPlanesConverter::Create(input_->device(), frame.batch, stream).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(lazy_cuda::Objects(), before);
  OnTheGpu(frame.batch, stream);
  EXPECT_EQ(lazy_cuda::Objects(), before);
}

// Returns the pixels with a fourth byte each.
std::vector<uint8_t> WithAlpha(const FrameBatch& frames) {
  const auto* const pixels = static_cast<const uint8_t*>(frames.data);
  std::vector<uint8_t> made;
  for (size_t i = 0; i < frames.frame_bytes; i += 3) {
    made.insert(made.end(), pixels + i, pixels + i + 3);
    made.push_back(static_cast<uint8_t>(i));
  }
  return made;
}

TEST_F(GpuToPlanesTest, RgbBytesEqualTheHosts) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P}) {
    for (const auto& [width, height] : kSizes) {
      for (const ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
        for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
          StreamSpec stream = Stream(format, width, height);
          stream.color_space = space;
          stream.color_range = range;
          for (const bool blue_first : {false, true}) {
            const Frame frame(blue_first ? PixelFormat::kBgr : PixelFormat::kRgb,
                              SampleType::kUint8, width, height);
            const std::vector<uint8_t> want = OnTheHost(frame.batch, stream);
            EXPECT_EQ(RgbOnTheGpu(frame.batch.data, {3, blue_first}, stream), want)
                << width << ", " << format;
            EXPECT_EQ(RgbOnTheGpu(WithAlpha(frame.batch).data(), {4, blue_first}, stream), want);
          }
        }
      }
    }
  }
}

TEST_F(GpuToPlanesTest, RefusesAWrongNumberOfBytes) {
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  const auto converter = GpuRgbConverter::Create(input_->device(), stream, {4, false});
  ASSERT_TRUE(converter.ok()) << converter.status();
  const AvFramePtr frame = NewFrame(stream);
  const GpuRows rows[] = {{0, 16 * 8 * 3, 1, 0}};
  EXPECT_EQ(input_->ConvertTo(frame.get(), rows, **converter).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GpuToPlanesTest, NamesStreamsThatItRefuses) {
  const absl::Status status =
      GpuRgbConverter::Create(input_->device(), Stream(AV_PIX_FMT_P010, 16, 8), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not p010le"));
}

}  // namespace
}  // namespace nvc
