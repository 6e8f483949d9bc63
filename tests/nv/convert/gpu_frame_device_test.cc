// Tests the colour kernel and the copies on a real GPU, without a decoder, and prints what a frame
// costs. Without a GPU the tests are skipped, or fail if TF_NVCODEC_REQUIRE_GPU=1 is set.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/convert_checks.h"
#include "tests/core/testing/convert_draw.h"
#include "tests/core/testing/convert_reference.h"
#include "tests/core/testing/orientations.h"
#include "tests/nv/testing/host_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/convert/gpu_frame_converter.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"

namespace nvc {
namespace {

const char* Folder() { return std::getenv("TF_NVCODEC_NVRTC"); }
const bool kFolderSet = (Folder() != nullptr ? SetNvrtcFolders({Folder()}) : void(), true);

// A copy of a software frame in device memory, laid out as a GPU's decoder leaves it.
class UploadedFrame {
 public:
  static absl::StatusOr<std::unique_ptr<UploadedFrame>> Create(GpuDevice* device, CUstream stream,
                                                               const AVFrame& software) {
    auto made = std::make_unique<UploadedFrame>();
    const HostPicture host(software, 32);
    made->frame_ = software;
    made->frame_.format = AV_PIX_FMT_CUDA;
    made->frame_.opaque = &made->picture_;
    GpuPicture& picture = made->picture_;
    picture.device = device;
    picture.pitch = host.pitch;
    picture.layout = host.layout;
    picture.stream_format = static_cast<AVPixelFormat>(software.format);
    for (int i = 0; i < 3; ++i) {
      const std::vector<uint8_t>& plane = host.planes[i];
      if (plane.empty()) continue;
      NVC_ASSIGN_OR_RETURN(made->memory_[i], DeviceMemory::Allocate(device, plane.size()));
      picture.planes[i] = made->memory_[i].get();
      NVC_RETURN_IF_ERROR(
          CopyToDevice(device, stream, picture.planes[i], plane.data(), plane.size()));
    }
    return made;
  }

  const AVFrame& frame() const { return frame_; }

 private:
  AVFrame frame_;
  GpuPicture picture_;
  DeviceMemory memory_[3];
};

// Copies software frames to the GPU, converts them there and copies the result back.
class RoundTripConverter : public FrameConverter {
 public:
  RoundTripConverter(GpuDevice* device, CUstream stream, std::unique_ptr<FrameConverter> gpu)
      : FrameConverter(gpu->source(), gpu->shape()),
        device_(device),
        stream_(stream),
        gpu_(std::move(gpu)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_ASSIGN_OR_RETURN(const auto uploaded, UploadedFrame::Create(device_, stream_, frame));
    NVC_ASSIGN_OR_RETURN(const DeviceMemory memory, DeviceMemory::Allocate(device_, shape().bytes));
    NVC_RETURN_IF_ERROR(gpu_->Convert(uploaded->frame(), reinterpret_cast<void*>(memory.get())));
    return CopyToHost(device_, stream_, out, memory.get(), shape().bytes);
  }

 private:
  GpuDevice* device_;
  CUstream stream_;
  std::unique_ptr<FrameConverter> gpu_;
};

class GpuFrameDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* required = std::getenv("TF_NVCODEC_REQUIRE_GPU");
    const auto device = GpuDevice::GetFirst();
    const auto nvrtc = Nvrtc::Get();
    if (!device.ok() || !nvrtc.ok()) {
      ASSERT_NE(required != nullptr ? std::string(required) : "", "1")
          << device.status() << nvrtc.status();
      GTEST_SKIP() << device.status() << nvrtc.status();
    }
    device_ = *device;
    auto stream = CudaStream::Create(device_);
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }

  absl::StatusOr<std::unique_ptr<FrameConverter>> NewRoundTrip(const OutputSpec& output,
                                                               const SourceSpec& source) {
    NVC_ASSIGN_OR_RETURN(auto gpu, NewGpuFrameConverter(device_, stream_.get(), output, source));
    return std::make_unique<RoundTripConverter>(device_, stream_.get(), std::move(gpu));
  }

  GpuDevice* device_ = nullptr;
  CudaStream stream_;
};

TEST_F(GpuFrameDeviceTest, RandomConversionsAgreeWithTheReference) {
  const AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                                   AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8};
  Draw draw(77);
  for (int converted = 0; converted < 400;) {
    const AVPixelFormat format = formats[draw.Between(0, 4)];
    const bool wide = draw.Between(0, 4) == 0;
    const int width = draw.Between(1, wide ? 400 : 60), height = draw.Between(1, wide ? 300 : 60);
    const Orientation orientation = {draw.Coin(), draw.Coin(), draw.Coin()};
    OutputSpec output =
        draw.Output(orientation.turned ? width : height, orientation.turned ? height : width);
    if (!output.Validate().ok()) continue;
    TestFrame frame(format, width, height, draw.Seed());
    const SourceSpec source = SourceSpec::Of(frame.frame(), orientation);
    ExpectMatches(NewRoundTrip(output, source), output, source, frame.frame());
    ++converted;
  }
}

TEST_F(GpuFrameDeviceTest, NativeIsTheSameBytes) {
  for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                               AV_PIX_FMT_YUV444P10, AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY12}) {
    TestFrame frame(format, 1001, 77, 4);
    const SourceSpec source = SourceSpec::Of(frame.frame());
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    const auto cpu = FrameConverter::Create(output, source);
    const auto gpu = NewRoundTrip(output, source);
    ASSERT_TRUE(cpu.ok() && gpu.ok()) << gpu.status();
    std::vector<uint8_t> expected((*cpu)->shape().bytes), got((*gpu)->shape().bytes);
    ASSERT_TRUE((*cpu)->Convert(frame.frame(), expected.data()).ok());
    ASSERT_TRUE((*gpu)->Convert(frame.frame(), got.data()).ok());
    EXPECT_EQ(got, expected) << format;
  }
}

double SecondsOf(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Checks nothing. It prints the time of a conversion and of a copy of as many bytes. The option
// --gtest_output=json:FILE writes both to a file.
TEST_F(GpuFrameDeviceTest, TimeOfA1080pFrame) {
  struct Case {
    const char* name;
    OutputSpec output;
    Orientation orientation;
  };
  std::vector<Case> cases(6, {"rgb_uint8", {}, {}});
  cases[1].name = "native", cases[1].output.pixel_format = PixelFormat::kNative;
  cases[2].name = "rgb_float16", cases[2].output.sample_type = SampleType::kFloat16;
  cases[3].name = "rgb_uint8_rotated_90", cases[3].orientation = kTurned90;
  for (int i : {4, 5}) {
    cases[i].output.sample_type = SampleType::kFloat16;
    cases[i].output.height = cases[i].output.width = 224;
  }
  cases[4].name = "rgb_float16_224x224_bilinear";
  cases[5].name = "rgb_float16_224x224_area";
  cases[5].output.resize_method = ResizeMethod::kArea;
  const auto tell = [](const std::string& what, double value) {
    std::cout << what << ": " << value << "\n";
    RecordProperty(what, std::to_string(value));
  };
  TestFrame software(AV_PIX_FMT_YUV420P, 1920, 1080, 9);
  // These are more frames than the GPU's caches hold.
  constexpr int kFrames = 32, kRounds = 20;
  std::vector<std::unique_ptr<UploadedFrame>> frames;
  for (int i = 0; i < kFrames; ++i) {
    auto uploaded = UploadedFrame::Create(device_, stream_.get(), software.frame());
    ASSERT_TRUE(uploaded.ok()) << uploaded.status();
    frames.push_back(*std::move(uploaded));
  }
  RecordProperty("gpu", device_->name());
  constexpr size_t kCopied = size_t{1} << 30;
  auto from = DeviceMemory::Allocate(device_, kCopied);
  auto to = DeviceMemory::Allocate(device_, kCopied);
  for (const absl::Status& made : {from.status(), to.status()}) {
    if (absl::IsResourceExhausted(made)) GTEST_SKIP() << "takes 2 GiB of the GPU: " << made;
    ASSERT_TRUE(made.ok()) << made;
  }
  const auto copy = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(CopyOnDevice(device_, stream_.get(), to->get(), from->get(), kCopied).ok());
    }
    ASSERT_TRUE(stream_.Synchronize().ok());
  };
  copy(1);
  const double bytes_a_second = 2.0 * kRounds * kCopied / SecondsOf([&] { copy(kRounds); });
  tell("copy_gb_per_s", bytes_a_second / 1e9);
  for (const Case& c : cases) {
    auto converter = NewGpuFrameConverter(device_, stream_.get(), c.output,
                                          GpuSourceSpec(frames[0]->frame(), c.orientation));
    ASSERT_TRUE(converter.ok()) << converter.status();
    const size_t bytes = (*converter)->shape().bytes;
    auto memory = DeviceMemory::Allocate(device_, bytes * kFrames);
    ASSERT_TRUE(memory.ok()) << memory.status();
    const auto run = [&](int rounds) {
      for (int i = 0; i < rounds * kFrames; ++i) {
        ASSERT_TRUE((*converter)
                        ->Convert(frames[i % kFrames]->frame(),
                                  reinterpret_cast<void*>(memory->get() + i % kFrames * bytes))
                        .ok());
      }
      ASSERT_TRUE(stream_.Synchronize().ok());
    };
    run(1);
    const double seconds = SecondsOf([&] { run(kRounds); }) / (kRounds * kFrames);
    const double least = (1920 * 1080 * 1.5 + static_cast<double>(bytes)) / bytes_a_second;
    tell(std::string(c.name) + "_us", seconds * 1e6);
    tell(std::string(c.name) + "_copy_us", least * 1e6);
  }
}

}  // namespace
}  // namespace nvc
