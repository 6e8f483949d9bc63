// Makes frames for NVENC on a real GPU, which need not have an NVENC. Without a GPU the tests are
// skipped, or fail if TF_NVCODEC_REQUIRE_GPU=1 is set.
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

const char* Folder() { return std::getenv("TF_NVCODEC_NVRTC"); }
const bool kFolderSet = (Folder() != nullptr ? SetNvrtcFolders({Folder()}) : void(), true);

constexpr AVPixelFormat kLayouts[] = {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV420P,
                                      AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P16LE};
constexpr std::pair<int, int> kSizes[] = {{96, 64}, {1920, 1080}, {322, 186}};

std::vector<uint8_t> Numbered(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> made(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    made[i] = static_cast<uint8_t>((i + seed) * 2654435761u >> 24);
  }
  return made;
}

class GpuFrameInputDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const required = std::getenv("TF_NVCODEC_REQUIRE_GPU");
    const auto gpu = GpuDevice::GetFirst();
    if (!gpu.ok()) {
      if (required != nullptr && std::string(required) == "1") FAIL() << gpu.status();
      GTEST_SKIP() << gpu.status();
    }
    gpu_ = *gpu;
    const auto device = NewCudaDevice(*gpu_);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *device;
    auto input = GpuFrameInput::Create(gpu_);
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *std::move(input);
  }
  void TearDown() override { av_buffer_unref(&device_); }

  // Copies a frame from the GPU with libavutil and returns its samples without padding.
  static std::vector<uint8_t> Packed(const AVFrame& frame, AVPixelFormat layout) {
    const AvFramePtr host(av_frame_alloc());
    host->format = layout;
    EXPECT_EQ(av_hwframe_transfer_data(host.get(), &frame, 0), 0);
    std::vector<uint8_t> packed(
        static_cast<size_t>(av_image_get_buffer_size(layout, frame.width, frame.height, 1)));
    av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), host->data,
                            host->linesize, layout, frame.width, frame.height, 1);
    return packed;
  }

  GpuDevice* gpu_ = nullptr;
  AVBufferRef* device_ = nullptr;
  std::unique_ptr<GpuFrameInput> input_;
};

TEST_F(GpuFrameInputDeviceTest, FramesAreTheHostsBitForBit) {
  for (const AVPixelFormat layout : kLayouts) {
    for (const auto& [width, height] : kSizes) {
      const auto pool = GpuFramePool::Create(device_, layout, width, height);
      ASSERT_TRUE(pool.ok()) << pool.status();
      const auto bytes = static_cast<size_t>(av_image_get_buffer_size(layout, width, height, 1));
      const auto memory = DeviceMemory::Allocate(gpu_, bytes);
      ASSERT_TRUE(memory.ok()) << memory.status();
      for (uint32_t seed = 0; seed < 3; ++seed) {
        const std::vector<uint8_t> expected = Numbered(bytes, seed);
        ASSERT_TRUE(
            CopyToDevice(gpu_, input_->stream(), memory->get(), expected.data(), bytes).ok());
        auto frame = (*pool)->Take();
        ASSERT_TRUE(frame.ok()) << frame.status();
        const GpuRows rows[] = {{memory->get(), bytes, 1, bytes}};
        const absl::Status copied = input_->CopyTo(frame->get(), rows);
        ASSERT_TRUE(copied.ok()) << copied;
        EXPECT_TRUE(Packed(**frame, layout) == expected)
            << layout << ", " << width << "x" << height;

        // Frames in host memory are uploaded to the same samples.
        const AvFramePtr host(av_frame_alloc());
        host->format = layout;
        host->width = width;
        host->height = height;
        av_image_fill_arrays(host->data, host->linesize, expected.data(), layout, width, height, 1);
        host->pts = 5;
        const auto uploaded = (*pool)->Upload(*host);
        ASSERT_TRUE(uploaded.ok()) << uploaded.status();
        EXPECT_TRUE(Packed(**uploaded, layout) == expected) << layout;
        EXPECT_EQ((*uploaded)->pts, 5);
      }
    }
  }
}

TEST_F(GpuFrameInputDeviceTest, RowsWithAPitchToTheHostAndToAFrame) {
  constexpr int kWidth = 1918, kHeight = 1080, kPitch = 2048;
  const auto memory = DeviceMemory::Allocate(gpu_, kPitch * kHeight * 3 / 2);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const std::vector<uint8_t> wide = Numbered(memory->bytes(), 1);
  std::vector<uint8_t> expected;
  for (size_t at = 0; at < wide.size(); at += kPitch) {
    expected.insert(expected.end(), &wide[at], &wide[at] + kWidth);
  }
  ASSERT_TRUE(CopyToDevice(gpu_, input_->stream(), memory->get(), wide.data(), wide.size()).ok());
  // Each of the two planes is a block of its own.
  const GpuRows rows[] = {{memory->get(), kWidth, kHeight, kPitch},
                          {memory->get() + kPitch * kHeight, kWidth, kHeight / 2, kPitch}};
  std::vector<uint8_t> host(expected.size());
  ASSERT_TRUE(input_->CopyTo(host.data(), rows, host.size()).ok());
  EXPECT_TRUE(host == expected);
  const auto pool = GpuFramePool::Create(device_, AV_PIX_FMT_NV12, kWidth, kHeight);
  ASSERT_TRUE(pool.ok()) << pool.status();
  auto frame = (*pool)->Take();
  ASSERT_TRUE(frame.ok()) << frame.status();
  ASSERT_TRUE(input_->CopyTo(frame->get(), rows).ok());
  EXPECT_TRUE(Packed(**frame, AV_PIX_FMT_NV12) == expected);
}

TEST_F(GpuFrameInputDeviceTest, RgbIsConvertedAsOnTheHost) {
  const auto nvrtc = Nvrtc::Get();
  if (!nvrtc.ok()) {
    const char* const required = std::getenv("TF_NVCODEC_REQUIRE_GPU");
    ASSERT_NE(required != nullptr ? std::string(required) : "", "1") << nvrtc.status();
    GTEST_SKIP() << nvrtc.status();
  }
  StreamSpec stream;
  stream.width = 1918;
  stream.height = 1080;
  for (const AVPixelFormat layout : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P}) {
    stream.format = stream.encoder_format = layout;
    FrameBatch frames;
    frames.count = 1;
    frames.width = stream.width;
    frames.height = stream.height;
    frames.frame_bytes = static_cast<size_t>(stream.width) * stream.height * 3;
    const std::vector<uint8_t> rgb = Numbered(frames.frame_bytes, 7);
    frames.data = rgb.data();
    const auto loader = FrameLoader::Create(frames, stream);
    ASSERT_TRUE(loader.ok()) << loader.status();
    const auto want = (*loader)->Load(0);
    ASSERT_TRUE(want.ok()) << want.status();

    const auto memory = DeviceMemory::Allocate(gpu_, rgb.size());
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_TRUE(CopyToDevice(gpu_, input_->stream(), memory->get(), rgb.data(), rgb.size()).ok());
    const auto converter = GpuRgbConverter::Create(gpu_, stream, RgbPixel());
    ASSERT_TRUE(converter.ok()) << converter.status();
    const auto pool = GpuFramePool::Create(device_, layout, stream.width, stream.height);
    ASSERT_TRUE(pool.ok()) << pool.status();
    auto frame = (*pool)->Take();
    ASSERT_TRUE(frame.ok()) << frame.status();
    const GpuRows rows[] = {{memory->get(), rgb.size(), 1, rgb.size()}};
    const absl::Status converted = input_->ConvertTo(frame->get(), rows, **converter);
    ASSERT_TRUE(converted.ok()) << converted;
    std::vector<uint8_t> expected(
        static_cast<size_t>(av_image_get_buffer_size(layout, stream.width, stream.height, 1)));
    av_image_copy_to_buffer(expected.data(), static_cast<int>(expected.size()), (*want)->data,
                            (*want)->linesize, layout, stream.width, stream.height, 1);
    EXPECT_TRUE(Packed(**frame, layout) == expected) << layout;
  }
}

TEST_F(GpuFrameInputDeviceTest, FramesOutliveTheirPool) {
  auto pool = GpuFramePool::Create(device_, AV_PIX_FMT_NV12, 64, 64);
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto frame = (*pool)->Take();
  ASSERT_TRUE(frame.ok()) << frame.status();
  pool->reset();
  EXPECT_EQ(Packed(**frame, AV_PIX_FMT_NV12).size(), 64u * 64 * 3 / 2);
}

TEST_F(GpuFrameInputDeviceTest, LayoutsThatCudaHasNoneOfAreTold) {
  const auto pool = GpuFramePool::Create(device_, AV_PIX_FMT_GRAY8, 64, 64);
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kUnimplemented) << pool.status();
}

TEST_F(GpuFrameInputDeviceTest, MemoryTellsItsGpu) {
  const auto memory = DeviceMemory::Allocate(gpu_, 1000);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto found = GpuOfMemory(memory->get() + 10);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, gpu_);
  int on_the_stack = 0;
  EXPECT_EQ(GpuOfMemory(reinterpret_cast<CUdeviceptr>(&on_the_stack)).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto pinned = PinnedMemory::Allocate(gpu_, 1000);
  ASSERT_TRUE(pinned.ok()) << pinned.status();
  EXPECT_EQ(GpuOfMemory(reinterpret_cast<CUdeviceptr>(pinned->get())).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nvc
