// Encodes batches in a GPU's memory with libavcodec's wrapper of NVENC, on a machine without NVENC.
// The drivers below the wrapper are fakes. Their packets hold the pictures that the encoder got.
#include <dlfcn.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nv/testing/fake_nvenc.h"
#include "tests/nv/testing/lazy_cuda.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"
#include "tf_nvcodec/nv/cuda/nvrtc.h"
#include "tf_nvcodec/nv/encode/encode_backend.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace nvc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const bool kFolderSet = (SetNvrtcFolders({"tests/nv/testing"}), true);

const CUstream kTensorFlows = reinterpret_cast<CUstream>(uintptr_t{77});

// Loads the fake drivers by their paths, so that libavutil and libavcodec then find them by name.
// They stay loaded, because libavcodec may close its own handles at any time.
FakeNvenc& Nvenc() {
  static FakeNvenc* const fake = [] {
    EXPECT_NE(dlopen("tests/nv/testing/libcuda.so.1", RTLD_NOW), nullptr) << dlerror();
    void* const library = dlopen("tests/nv/testing/libnvidia-encode.so.1", RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    return reinterpret_cast<FakeNvencState*>(dlsym(library, "nvc_fake_nvenc"))();
  }();
  return *fake;
}

// Returns whether the real driver is loaded, as TensorFlow's libraries do where one is installed.
// Its name then leads to it and not to the fake. Must be called before the fake is loaded.
bool RealDriverIsOpen() {
  static const bool is_open = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  return is_open;
}

// Frames that differ from each other, in memory as a tensor has it.
class Batch {
 public:
  Batch(PixelFormat format, SampleType type, int width, int height, int count) {
    frames.pixel_format = format;
    frames.sample_type = type;
    frames.width = width;
    frames.height = height;
    frames.count = count;
    frames.frame_bytes = *FrameBytes(format, type, height, width);
    memory_.resize(frames.frame_bytes * static_cast<size_t>(count) / sizeof(float) + 1);
    frames.data = memory_.data();
    auto* const bytes = reinterpret_cast<uint8_t*>(memory_.data());
    for (size_t i = 0; i < frames.frame_bytes * static_cast<size_t>(count); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    }
    if (type != SampleType::kFloat32) return;
    for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<float>(i % 101) / 100;
  }

  float* floats() { return memory_.data(); }
  FrameBatch frames;

 private:
  std::vector<float> memory_;
};

class GpuEncodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RealDriverIsOpen()) GTEST_SKIP() << "this machine has a real driver";
    if (!FindNvencEncoder(EncodeCodec::kH264).ok()) GTEST_SKIP() << "libavcodec has no NVENC";
    Nvenc() = {};
    Nvenc().fail_at = -1;
    device_ = lazy_cuda::NewDevice();
    const auto view = NewCudaDevice(*device_);
    ASSERT_TRUE(view.ok()) << view.status();
    gpu_.gpu = device_;
    gpu_.name = "Fake GPU";
    gpu_.codecs = {"h264", "hevc"};
    gpu_.device = *view;
    options_.container = EncodeContainer::kRaw;
    options_.max_b_frames = 0;
    engines_ = EnginesOnGpu(device_, kTensorFlows, [this](size_t bytes) -> absl::StatusOr<void*> {
      if (!no_memory_.ok()) return no_memory_;
      host_.emplace_back(bytes);
      return host_.back().data();
    });
    engines_.auto_tries_nvenc = true;
    engines_.find = [this]() -> absl::StatusOr<const NvencGpu*> {
      if (!no_gpu_.ok()) return no_gpu_;
      return &gpu_;
    };
    lazy_cuda::TakeCalls();
    objects_ = lazy_cuda::Objects();
  }

  void TearDown() override {
    if (IsSkipped()) return;
    av_buffer_unref(&gpu_.device);
    EXPECT_EQ(Nvenc().living, 0);
    EXPECT_EQ(lazy_cuda::Pending(), 0u);
  }

  absl::Status Run(const FrameBatch& frames, EncodeBackend backend = EncodeBackend::kNvenc,
                   const Cancelled& cancelled = nullptr) {
    return Run(frames, *FrameTiming::FromFps(25), backend, cancelled);
  }

  absl::Status Run(const FrameBatch& frames, const FrameTiming& timing, EncodeBackend backend,
                   const Cancelled& cancelled) {
    out_.clear();
    said_.clear();
    StringBytes bytes(&out_);
    return EncodeWith(engines_, backend, frames, timing, options_, cancelled, &bytes,
                      [this](const std::string& why) { said_.push_back(why); });
  }

  // Returns the packets that a batch must give: the frames as the loader of core/encode converts
  // them in host memory.
  std::string Expected(const FrameBatch& frames) {
    EncodeOptions options = options_;
    options.engine = EncodeEngine::kNvenc;
    const auto stream = ChooseStream(frames, options);
    EXPECT_TRUE(stream.ok()) << stream.status();
    const auto loader = FrameLoader::Create(frames, *stream);
    EXPECT_TRUE(loader.ok()) << loader.status();
    std::string packets;
    for (int64_t i = 0; i < frames.count; ++i) {
      const auto frame = (*loader)->Load(i);
      EXPECT_TRUE(frame.ok()) << frame.status();
      std::string packed(static_cast<size_t>(av_image_get_buffer_size(
                             stream->encoder_format, frames.width, frames.height, 1)),
                         0);
      av_image_copy_to_buffer(reinterpret_cast<uint8_t*>(packed.data()),
                              static_cast<int>(packed.size()), (*frame)->data, (*frame)->linesize,
                              stream->encoder_format, frames.width, frames.height, 1);
      packets += std::string("\0\0\0\1\x65", 5) + packed;
    }
    return packets;
  }

  GpuDevice* device_ = nullptr;
  NvencGpu gpu_;
  EncodeOptions options_;
  EncodeEngines engines_;
  absl::Status no_gpu_, no_memory_;
  std::vector<std::vector<uint8_t>> host_;
  std::vector<std::string> said_;
  std::string out_;
  int objects_ = 0;
};

TEST_F(GpuEncodeTest, NvencGetsTheSameFramesAsFromTheHost) {
  struct Case {
    PixelFormat format;
    SampleType type;
    EncodeCodec codec;
    const char* stream;
  };
  constexpr EncodeCodec kH264 = EncodeCodec::kH264, kHevc = EncodeCodec::kHevc;
  constexpr SampleType kBytes = SampleType::kUint8;
  for (const Case& c :
       {Case{PixelFormat::kRgb, kBytes, kH264, ""},
        Case{PixelFormat::kBgr, kBytes, kHevc, "yuv444p"},
        Case{PixelFormat::kRgb, SampleType::kFloat32, kH264, ""},
        Case{PixelFormat::kBgr, SampleType::kUint16, kHevc, ""},
        Case{PixelFormat::kGray, kBytes, kH264, ""},
        Case{PixelFormat::kGray, SampleType::kFloat32, kH264, "yuv444p"},
        Case{PixelFormat::kNv12, kBytes, kH264, ""},
        Case{PixelFormat::kNv12, kBytes, kHevc, "yuv444p"},
        Case{PixelFormat::kYuv420p, kBytes, kH264, ""},
        Case{PixelFormat::kYuv444p, kBytes, kH264, ""},
        Case{PixelFormat::kYuv444p, kBytes, kHevc, "yuv420p"},
        Case{PixelFormat::kP010, kBytes, kHevc, ""}, Case{PixelFormat::kP010, kBytes, kH264, ""}}) {
    const std::string label = absl::StrCat(Name(c.format), " ", Name(c.type), " as ", c.stream);
    options_.codec = c.codec;
    options_.pixel_format = c.stream;
    const Batch batch(c.format, c.type, 96, 64, 5);
    const absl::Status status = Run(batch.frames);
    ASSERT_TRUE(status.ok()) << label << ": " << status;
    EXPECT_TRUE(out_ == Expected(batch.frames)) << label;
    EXPECT_THAT(lazy_cuda::TakeCalls(), Not(Contains("d2h"))) << label;
  }
  EXPECT_THAT(host_, IsEmpty());
}

TEST_F(GpuEncodeTest, WaitsForTensorFlowsWork) {
  // Work that TensorFlow has queued writes the frames.
  const Batch made(PixelFormat::kNv12, SampleType::kUint8, 96, 64, 3);
  Batch batch(PixelFormat::kNv12, SampleType::kUint8, 96, 64, 3);
  const size_t bytes = batch.frames.frame_bytes * 3;
  std::memset(batch.floats(), 0, bytes);
  const auto address = [](const void* data) { return reinterpret_cast<CUdeviceptr>(data); };
  ASSERT_EQ(device_->cuda().cuMemcpyDtoDAsync(address(batch.frames.data), address(made.frames.data),
                                              bytes, kTensorFlows),
            CUDA_SUCCESS);
  ASSERT_TRUE(Run(batch.frames).ok());
  EXPECT_TRUE(out_ == Expected(made.frames));
  const std::vector<std::string> calls = lazy_cuda::TakeCalls();
  ASSERT_GE(calls.size(), 4u);
  // The reader waits for an event on TensorFlow's stream before it reads anything.
  EXPECT_THAT(std::vector<std::string>(calls.begin(), calls.begin() + 4),
              ElementsAre("d2d", "record", "wait", "2d"));
}

TEST_F(GpuEncodeTest, LongBatchesNeedFewSurfaces) {
  const Batch batch(PixelFormat::kRgb, SampleType::kUint8, 96, 64, 200);
  ASSERT_TRUE(Run(batch.frames).ok());
  EXPECT_TRUE(out_ == Expected(batch.frames));
  EXPECT_EQ(Nvenc().pictures, 200);
  EXPECT_LE(Nvenc().surfaces, 32);
  EXPECT_EQ(lazy_cuda::Objects(), objects_);
}

TEST_F(GpuEncodeTest, FilesHoldEachFrameAtItsTime) {
  options_.container = EncodeContainer::kMp4;
  for (const int b_frames : {-1, 0, 1, 3}) {
    options_.max_b_frames = b_frames;
    options_.fragmented = b_frames > 0;  // without fragments, uneven times exclude B-frames
    for (const int count : {1, 2, 3, 4, 13}) {
      Batch batch(PixelFormat::kNv12, SampleType::kUint8, 96, 64, count);
      // Odd samples can't look like a start code.
      auto* const samples = reinterpret_cast<uint8_t*>(batch.floats());
      const size_t bytes = batch.frames.frame_bytes;
      for (size_t i = 0; i < bytes * static_cast<size_t>(count); ++i) samples[i] |= 1;
      std::vector<double> times;
      for (int i = 0; i < count; ++i)
        times.push_back(i == 0 ? 0 : times.back() + (i % 3 + 1) * 0.04);
      const auto timing = FrameTiming::FromSeconds(times, 25, options_.container);
      ASSERT_TRUE(timing.ok()) << timing.status();
      const absl::Status status = Run(batch.frames, *timing, EncodeBackend::kNvenc, nullptr);
      const std::string label = absl::StrCat(count, " frames, bf ", b_frames);
      ASSERT_TRUE(status.ok()) << label << ": " << status;

      const MemorySource source(out_);
      auto demuxer = Demuxer::Open(source, nullptr);
      ASSERT_TRUE(demuxer.ok()) << demuxer.status();
      const double tick = av_q2d((*demuxer)->stream().time_base);
      const AvPacketPtr packet(av_packet_alloc());
      int64_t last_dts = INT64_MIN;
      std::set<int> found;
      while (*(*demuxer)->Next(packet.get())) {
        EXPECT_LE(packet->dts, packet->pts) << label;
        EXPECT_GT(packet->dts, last_dts) << label;
        last_dts = packet->dts;
        const double seconds = static_cast<double>(packet->pts) * tick;
        int frame = 0;
        while (frame < count && std::abs(times[static_cast<size_t>(frame)] - seconds) > 1e-3)
          ++frame;
        ASSERT_LT(frame, count) << label << ": " << seconds;
        EXPECT_TRUE(found.insert(frame).second) << label;
        // A packet begins with its length and the slice's header.
        ASSERT_EQ(packet->size, static_cast<int>(bytes) + 5) << label;
        EXPECT_EQ(
            std::memcmp(packet->data + 5, samples + bytes * static_cast<size_t>(frame), bytes), 0)
            << label << ", frame " << frame;
      }
      EXPECT_EQ(found.size(), static_cast<size_t>(count)) << label;
    }
  }
}

TEST_F(GpuEncodeTest, WithoutNvencTheHostGetsOneCopy) {
  no_gpu_ = absl::FailedPreconditionError("no NVENC on NVIDIA H200 (NVENCSTATUS 2)");
  const Batch batch(PixelFormat::kRgb, SampleType::kFloat32, 96, 64, 5);
  const absl::Status status = Run(batch.frames);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no NVENC on NVIDIA H200"));
  EXPECT_THAT(lazy_cuda::TakeCalls(), IsEmpty());

  const absl::Status fallen = Run(batch.frames, EncodeBackend::kAuto);
  ASSERT_TRUE(fallen.ok()) << fallen;
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no NVENC on NVIDIA H200")));
  ASSERT_EQ(host_.size(), 1u);
  EXPECT_EQ(host_[0].size(), 5u * 96 * 64 * 3 * sizeof(float));
  std::string want;
  StringBytes bytes(&want);
  ASSERT_TRUE(WriteVideo(batch.frames, *FrameTiming::FromFps(25), options_, nullptr, &bytes).ok());
  EXPECT_TRUE(out_ == want);
  EXPECT_EQ(Nvenc().opened, 0);
}

TEST_F(GpuEncodeTest, TheCpuRefusesFramesBeforeTheyAreCopied) {
  const Batch batch(PixelFormat::kRgb, SampleType::kUint8, 97, 64, 2);
  const absl::Status status = Run(batch.frames, EncodeBackend::kCpu);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("can't store 97x64"));
  EXPECT_THAT(host_, IsEmpty());
  no_memory_ = absl::ResourceExhaustedError("no host memory");
  const Batch even(PixelFormat::kRgb, SampleType::kUint8, 96, 64, 2);
  EXPECT_EQ(Run(even.frames, EncodeBackend::kCpu), no_memory_);
}

TEST_F(GpuEncodeTest, FloatsFarOutsideNameTheirFrame) {
  Batch batch(PixelFormat::kRgb, SampleType::kFloat32, 96, 64, 5);
  batch.floats()[3 * 96 * 64 * 3 + 17] = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status = Run(batch.frames);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in [0, 1]; frame 3 has a sample"));
  EXPECT_EQ(lazy_cuda::Objects(), objects_);
}

TEST_F(GpuEncodeTest, CancellingEndsTheSession) {
  const Batch batch(PixelFormat::kRgb, SampleType::kUint8, 96, 64, 60);
  const absl::Status status =
      Run(batch.frames, EncodeBackend::kAuto, [] { return Nvenc().pictures >= 20; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of 60 frames"));
  EXPECT_LE(Nvenc().pictures, 21);
  EXPECT_THAT(host_, IsEmpty());
  EXPECT_EQ(lazy_cuda::Objects(), objects_);
}

TEST_F(GpuEncodeTest, AFailureInTheMiddleIsReportedOrFallsBack) {
  const Batch batch(PixelFormat::kRgb, SampleType::kUint8, 96, 64, 12);
  Nvenc().fail_at = 7;
  Nvenc().fail_with = 20;  // NV_ENC_ERR_GENERIC
  const absl::Status status = Run(batch.frames);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("codec h264 (h264_nvenc)"));
  EXPECT_EQ(Nvenc().living, 0);
  EXPECT_EQ(lazy_cuda::Objects(), objects_);

  Nvenc().fail_at = Nvenc().pictures + 7;
  ASSERT_TRUE(Run(batch.frames, EncodeBackend::kAuto).ok());
  EXPECT_THAT(said_, ElementsAre(HasSubstr("h264_nvenc")));
  EXPECT_EQ(host_.size(), 1u);
  Nvenc().fail_at = -1;
  ASSERT_TRUE(Run(batch.frames).ok());
  EXPECT_TRUE(out_ == Expected(batch.frames));
}

TEST_F(GpuEncodeTest, GpuFailuresAreReported) {
  const Batch rgb(PixelFormat::kRgb, SampleType::kFloat32, 96, 64, 3);
  ASSERT_TRUE(Run(rgb.frames).ok());  // compiles the kernel
  for (const char* function : {"cuStreamCreate", "cuMemHostAlloc", "cuEventCreate", "record",
                               "wait", "planes", "cuStreamSynchronize"}) {
    lazy_cuda::FailNext(function, kCudaOutOfMemory);
    EXPECT_EQ(Run(rgb.frames).code(), absl::StatusCode::kResourceExhausted) << function;
    EXPECT_EQ(Nvenc().living, 0) << function;
    EXPECT_EQ(lazy_cuda::Objects(), objects_) << function;
  }
  EXPECT_TRUE(Run(rgb.frames).ok());
}

}  // namespace
}  // namespace nvc
