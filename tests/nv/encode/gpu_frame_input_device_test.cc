// Makes frames for NVENC on a real GPU, which need not have an NVENC. Without a GPU the tests are
// skipped, or fail if TF_NVCODEC_REQUIRE_GPU=1 is set.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

using ::testing::HasSubstr;

const char* Folder() { return std::getenv("TF_NVCODEC_NVRTC"); }
const bool kFolderSet = (Folder() != nullptr ? SetNvrtcFolders({Folder()}) : void(), true);

constexpr AVPixelFormat kLayouts[] = {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV420P,
                                      AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P16LE};
constexpr std::pair<int, int> kSizes[] = {{96, 64}, {1918, 1080}, {322, 186}};
constexpr int kCount = 3;

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
    const auto gpu = GpuDevice::GetFirst();
    const auto nvrtc = Nvrtc::Get();
    if (!gpu.ok() || !nvrtc.ok()) {
      const absl::Status why = gpu.ok() ? nvrtc.status() : gpu.status();
      const char* const required = std::getenv("TF_NVCODEC_REQUIRE_GPU");
      if (required != nullptr && std::string(required) == "1") FAIL() << why;
      GTEST_SKIP() << why;
    }
    gpu_ = *gpu;
    const auto device = NewCudaDevice(*gpu_);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *device;
    auto input = GpuFrameInput::Create(gpu_);
    ASSERT_TRUE(input.ok()) << input.status();
    input_ = *std::move(input);
    auto stream = CudaStream::Create(gpu_);
    ASSERT_TRUE(stream.ok()) << stream.status();
    producer_ = *std::move(stream);
  }
  void TearDown() override { av_buffer_unref(&device_); }

  // Returns the samples of a frame in host memory without padding.
  static std::vector<uint8_t> OfHost(const AVFrame& frame, AVPixelFormat layout) {
    std::vector<uint8_t> packed(
        static_cast<size_t>(av_image_get_buffer_size(layout, frame.width, frame.height, 1)));
    av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), frame.data,
                            frame.linesize, layout, frame.width, frame.height, 1);
    return packed;
  }
  // Copies a frame from the GPU with libavutil and returns the same.
  static std::vector<uint8_t> Packed(const AVFrame& frame, AVPixelFormat layout) {
    const AvFramePtr host(av_frame_alloc());
    host->format = layout;
    EXPECT_EQ(av_hwframe_transfer_data(host.get(), &frame, 0), 0);
    return OfHost(*host, layout);
  }

  // Makes random frames on the host. Floats and halfs go a little beyond [0, 1].
  void Make(PixelFormat format, SampleType type, int width, int height) {
    frames_ = {};
    frames_.pixel_format = format;
    frames_.sample_type = type;
    frames_.width = width;
    frames_.height = height;
    frames_.count = kCount;
    frames_.frame_bytes = *FrameBytes(format, type, height, width);
    const size_t bytes = frames_.frame_bytes * kCount;
    host_.assign(bytes / sizeof(float) + 1, 0);
    auto* const at = reinterpret_cast<uint8_t*>(host_.data());
    for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<uint8_t>(i * 2654435761u >> 21);
    if (type == SampleType::kFloat32) {
      for (size_t i = 0; i < host_.size(); ++i) {
        host_[i] = static_cast<float>(i * 2654435761u % 1400) / 1000 - 0.2f;
      }
    } else if (type == SampleType::kFloat16) {
      for (size_t i = 0; i < bytes / 2; ++i) {
        const auto half = static_cast<uint16_t>((i * 2654435761u >> 9) % 0x4001);
        std::memcpy(at + 2 * i, &half, sizeof(half));
      }
    }
  }

  // Copies the batch to the GPU on another stream, and returns a loader that gives its frames to an
  // encoder.
  absl::StatusOr<std::unique_ptr<FrameSource>> Open(const StreamSpec& stream) {
    const size_t bytes = frames_.frame_bytes * kCount;
    auto memory = DeviceMemory::Allocate(gpu_, bytes);
    if (!memory.ok()) return memory.status();
    memory_ = *std::move(memory);
    const absl::Status copied =
        CopyToDevice(gpu_, producer_.get(), memory_.get(), host_.data(), bytes);
    if (!copied.ok()) return copied;
    FrameBatch on_gpu = frames_;
    on_gpu.data = reinterpret_cast<const void*>(memory_.get());
    return GpuFrameLoader::Create(gpu_, device_, producer_.get(), on_gpu, stream);
  }

  StreamSpec StreamOf(EncodeCodec codec, const char* pixel_format) const {
    EncodeOptions options;
    options.codec = codec;
    options.engine = EncodeEngine::kNvenc;
    options.pixel_format = pixel_format;
    const auto stream = ChooseStream(frames_, options);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *stream;
  }

  GpuDevice* gpu_ = nullptr;
  AVBufferRef* device_ = nullptr;
  std::unique_ptr<GpuFrameInput> input_;
  CudaStream producer_;
  DeviceMemory memory_;
  FrameBatch frames_;
  std::vector<float> host_;
};

TEST_F(GpuFrameInputDeviceTest, FramesEqualTheHosts) {
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

TEST_F(GpuFrameInputDeviceTest, FramesOutliveTheirPool) {
  auto pool = GpuFramePool::Create(device_, AV_PIX_FMT_NV12, 64, 64);
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto frame = (*pool)->Take();
  ASSERT_TRUE(frame.ok()) << frame.status();
  pool->reset();
  EXPECT_EQ(Packed(**frame, AV_PIX_FMT_NV12).size(), 64u * 64 * 3 / 2);
}

TEST_F(GpuFrameInputDeviceTest, RefusesLayoutsThatCudaLacks) {
  const auto pool = GpuFramePool::Create(device_, AV_PIX_FMT_GRAY8, 64, 64);
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kUnimplemented) << pool.status();
}

TEST_F(GpuFrameInputDeviceTest, FindsTheGpuOfMemory) {
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

TEST_F(GpuFrameInputDeviceTest, LoadedFramesEqualTheHosts) {
  constexpr SampleType kBytes = SampleType::kUint8;
  const std::pair<PixelFormat, SampleType> kinds[] = {{PixelFormat::kRgb, kBytes},
                                                      {PixelFormat::kBgr, kBytes},
                                                      {PixelFormat::kRgb, SampleType::kUint16},
                                                      {PixelFormat::kRgb, SampleType::kFloat16},
                                                      {PixelFormat::kBgr, SampleType::kFloat32},
                                                      {PixelFormat::kGray, kBytes},
                                                      {PixelFormat::kGray, SampleType::kFloat32},
                                                      {PixelFormat::kNv12, kBytes},
                                                      {PixelFormat::kYuv420p, kBytes},
                                                      {PixelFormat::kYuv444p, kBytes},
                                                      {PixelFormat::kP010, kBytes}};
  for (const auto& [format, type] : kinds) {
    for (const auto& [width, height] : kSizes) {
      for (const char* pixel_format : {"", "yuv420p", "yuv444p"}) {
        Make(format, type, width, height);
        frames_.data = host_.data();
        const StreamSpec stream = StreamOf(EncodeCodec::kHevc, pixel_format);
        const auto on_host = FrameLoader::Create(frames_, stream);
        ASSERT_TRUE(on_host.ok()) << on_host.status();
        const auto on_gpu = Open(stream);
        ASSERT_TRUE(on_gpu.ok()) << on_gpu.status();
        ASSERT_NE((*on_gpu)->gpu_frames(), nullptr);
        for (int64_t i = 0; i < kCount; ++i) {
          const auto want = (*on_host)->Load(i);
          ASSERT_TRUE(want.ok()) << want.status();
          const auto got = (*on_gpu)->Load(i);
          ASSERT_TRUE(got.ok()) << got.status();
          EXPECT_EQ((*got)->format, AV_PIX_FMT_CUDA);
          EXPECT_EQ((*got)->colorspace, (*want)->colorspace);
          EXPECT_TRUE(Packed(**got, stream.encoder_format) == OfHost(**want, stream.encoder_format))
              << Name(format) << " " << Name(type) << " as " << pixel_format << ", " << width << "x"
              << height << ", frame " << i;
        }
      }
    }
  }
}

TEST_F(GpuFrameInputDeviceTest, FloatsOutOfRangeNameTheirFrame) {
  Make(PixelFormat::kRgb, SampleType::kFloat32, 96, 64);
  host_[2 * 96 * 64 * 3 + 5] = std::numeric_limits<float>::quiet_NaN();
  const auto frames = Open(StreamOf(EncodeCodec::kH264, ""));
  ASSERT_TRUE(frames.ok()) << frames.status();
  EXPECT_TRUE((*frames)->Load(0).ok());
  EXPECT_TRUE((*frames)->Load(1).ok());
  const absl::Status status = (*frames)->Load(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("frame 2 has a sample"));
}

}  // namespace
}  // namespace nvc
