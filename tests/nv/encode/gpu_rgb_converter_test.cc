#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nv/encode/encoder_frames.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Where the build puts the fake compiler.
const bool kFolderSet = (SetNvrtcFolders({"tests/nv/testing"}), true);

// Returns noise with many colours at the ends of the scales.
std::vector<uint8_t> Pixels(int width, int height) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width) * height * 3);
  uint32_t state = 1;
  for (uint8_t& sample : pixels) {
    state = state * 1664525u + 1013904223u;
    const uint32_t draw = state >> 24;
    sample = static_cast<uint8_t>(draw < 40 ? 0 : draw > 215 ? 255 : draw);
  }
  return pixels;
}

std::vector<uint8_t> WithAlpha(const std::vector<uint8_t>& pixels) {
  std::vector<uint8_t> made;
  for (size_t i = 0; i < pixels.size(); i += 3) {
    made.insert(made.end(), &pixels[i], &pixels[i] + 3);
    made.push_back(static_cast<uint8_t>(i));
  }
  return made;
}

std::vector<uint8_t> OnTheHost(const std::vector<uint8_t>& pixels, PixelFormat format,
                               const StreamSpec& stream) {
  FrameBatch frames;
  frames.data = pixels.data();
  frames.count = 1;
  frames.frame_bytes = pixels.size();
  frames.width = stream.width;
  frames.height = stream.height;
  frames.pixel_format = format;
  return OnTheHost(frames, stream);
}

class GpuRgbConverterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto input = GpuFrameInput::Create(lazy_cuda::NewDevice());
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *std::move(input);
  }

  std::vector<uint8_t> OnTheGpu(const std::vector<uint8_t>& pixels, const RgbPixel& pixel,
                                const StreamSpec& stream) {
    const auto converter = GpuRgbConverter::Create(input_->device(), stream, pixel);
    EXPECT_TRUE(converter.ok()) << converter.status();
    const AvFramePtr frame = NewFrame(stream);
    const size_t row = static_cast<size_t>(stream.width) * pixel.bytes;
    const GpuRows rows[] = {{reinterpret_cast<CUdeviceptr>(pixels.data()), row,
                             static_cast<size_t>(stream.height), row}};
    const absl::Status status = input_->ConvertTo(frame.get(), rows, **converter);
    EXPECT_TRUE(status.ok()) << status;
    return Packed(*frame, stream);
  }

  std::unique_ptr<GpuFrameInput> input_;
};

TEST_F(GpuRgbConverterTest, IsTheHostsBitForBit) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P}) {
    for (const auto& [width, height] : {std::pair(96, 64), std::pair(7, 5), std::pair(1, 1)}) {
      for (const ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
        for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
          StreamSpec stream = Stream(format, width, height);
          stream.color_space = space;
          stream.color_range = range;
          const std::vector<uint8_t> pixels = Pixels(width, height);
          const std::vector<uint8_t> rgb = OnTheHost(pixels, PixelFormat::kRgb, stream);
          const std::vector<uint8_t> bgr = OnTheHost(pixels, PixelFormat::kBgr, stream);
          EXPECT_EQ(OnTheGpu(pixels, {3, false}, stream), rgb) << width << ", " << format;
          EXPECT_EQ(OnTheGpu(pixels, {3, true}, stream), bgr) << width << ", " << format;
          EXPECT_EQ(OnTheGpu(WithAlpha(pixels), {4, false}, stream), rgb);
          EXPECT_EQ(OnTheGpu(WithAlpha(pixels), {4, true}, stream), bgr);
        }
      }
    }
  }
}

TEST_F(GpuRgbConverterTest, TheHostIsLeftOut) {
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  OnTheGpu(Pixels(16, 8), {3, false}, stream);
  lazy_cuda::TakeCalls();
  OnTheGpu(Pixels(16, 8), {3, false}, stream);
  EXPECT_THAT(lazy_cuda::TakeCalls(), ElementsAre("rgb"));
  EXPECT_EQ(lazy_cuda::Pending(), 0u);
}

TEST_F(GpuRgbConverterTest, AnotherNumberOfBytesIsRefused) {
  const StreamSpec stream = Stream(AV_PIX_FMT_YUV420P, 16, 8);
  const auto converter = GpuRgbConverter::Create(input_->device(), stream, {4, false});
  ASSERT_TRUE(converter.ok()) << converter.status();
  EXPECT_EQ((*converter)->frame_bytes(), 16u * 8 * 4);
  const AvFramePtr frame = NewFrame(stream);
  const std::vector<uint8_t> pixels = Pixels(16, 8);
  const GpuRows rows[] = {{reinterpret_cast<CUdeviceptr>(pixels.data()), pixels.size(), 1, 0}};
  EXPECT_EQ(input_->ConvertTo(frame.get(), rows, **converter).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GpuRgbConverterTest, OtherStreamsAreNamed) {
  const absl::Status status =
      GpuRgbConverter::Create(input_->device(), Stream(AV_PIX_FMT_P010, 16, 8), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not p010le"));
}

}  // namespace
}  // namespace nvc
