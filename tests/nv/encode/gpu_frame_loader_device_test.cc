// Batches in the memory of a real GPU, which need not have an NVENC, as frames for one: skipped
// where there is no GPU, failed where TF_NVCODEC_REQUIRE_GPU=1 says that there is one.
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

constexpr std::pair<int, int> kSizes[] = {{96, 64}, {1918, 1080}, {322, 186}};
constexpr int kCount = 3;

class GpuFrameLoaderDeviceTest : public ::testing::Test {
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
    const auto view = NewCudaDevice(*gpu_);
    ASSERT_TRUE(view.ok()) << view.status();
    view_ = *view;
    auto stream = CudaStream::Create(gpu_);
    ASSERT_TRUE(stream.ok()) << stream.status();
    producer_ = *std::move(stream);
  }
  void TearDown() override { av_buffer_unref(&view_); }

  // Random frames on the host; floats and halfs a little beyond [0, 1].
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

  // The frames as the encoder is handed them, the batch being written by work on another stream.
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
    return GpuFrameLoader::Create(gpu_, view_, producer_.get(), on_gpu, stream);
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

  static std::vector<uint8_t> Packed(const AVFrame& frame, AVPixelFormat layout) {
    std::vector<uint8_t> packed(
        static_cast<size_t>(av_image_get_buffer_size(layout, frame.width, frame.height, 1)));
    av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), frame.data,
                            frame.linesize, layout, frame.width, frame.height, 1);
    return packed;
  }
  static std::vector<uint8_t> Downloaded(const AVFrame& frame, AVPixelFormat layout) {
    const AvFramePtr host(av_frame_alloc());
    host->format = layout;
    EXPECT_EQ(av_hwframe_transfer_data(host.get(), &frame, 0), 0);
    return Packed(*host, layout);
  }

  GpuDevice* gpu_ = nullptr;
  AVBufferRef* view_ = nullptr;
  CudaStream producer_;
  DeviceMemory memory_;
  FrameBatch frames_;
  std::vector<float> host_;
};

TEST_F(GpuFrameLoaderDeviceTest, FramesAreTheHostsBitForBit) {
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
          EXPECT_TRUE(Downloaded(**got, stream.encoder_format) ==
                      Packed(**want, stream.encoder_format))
              << Name(format) << " " << Name(type) << " as " << pixel_format << ", " << width << "x"
              << height << ", frame " << i;
        }
      }
    }
  }
}

TEST_F(GpuFrameLoaderDeviceTest, FloatsOutOfRangeNameTheirFrame) {
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
