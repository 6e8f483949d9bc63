#include "tf_nvcodec/core/mux/video_writer.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/x265_leaks.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/demux/demuxer.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

constexpr EncodeCodec kCodecs[] = {EncodeCodec::kH264, EncodeCodec::kHevc,  EncodeCodec::kAv1,
                                   EncodeCodec::kVp9,  EncodeCodec::kMjpeg, EncodeCodec::kFfv1};
constexpr EncodeContainer kContainers[] = {
    EncodeContainer::kMp4,  EncodeContainer::kMov, EncodeContainer::kMkv,
    EncodeContainer::kWebm, EncodeContainer::kAvi, EncodeContainer::kTs,
    EncodeContainer::kRaw,  EncodeContainer::kIvf, EncodeContainer::kObu};

// Makes frames of moving waves with moving noise on them.
class Clip {
 public:
  Clip(int width, int height, int count, PixelFormat format = PixelFormat::kRgb) {
    frames.pixel_format = format;
    frames.width = width;
    frames.height = height;
    frames.count = count;
    frames.frame_bytes = *FrameBytes(format, SampleType::kUint8, height, width);
    memory_.resize(frames.frame_bytes * count);
    for (size_t i = 0; i < memory_.size(); ++i) {
      const int t = static_cast<int>(i / frames.frame_bytes);
      const int at = static_cast<int>(i % frames.frame_bytes);
      const int x = at % (3 * width) / 3, y = at / (3 * width);
      const uint32_t place = static_cast<uint32_t>((x + 2 * t) * 31 + (y + t) * 1009);
      const int noise = static_cast<int>(place * 2654435761u >> 27) - 16;
      memory_[i] = static_cast<uint8_t>(128 + 90 * std::sin((3 * x + y + 9 * t) / 40.0) + noise);
    }
    frames.data = memory_.data();
  }
  FrameBatch frames;

 private:
  std::vector<uint8_t> memory_;
};

EncodeOptions Options(EncodeCodec codec, EncodeContainer container = EncodeContainer::kMkv,
                      const CodecOptions& codec_options = {}) {
  EncodeOptions options;
  options.codec = codec;
  options.container = container;
  options.codec_options = codec_options;
  if (codec == EncodeCodec::kAv1) options.preset = "12";
  if (codec == EncodeCodec::kVp9) options.preset = "8";
  return options;
}

absl::StatusOr<std::string> Write(const FrameBatch& frames, const EncodeOptions& options,
                                  const Cancelled& cancelled = nullptr, double fps = 25) {
  std::string out;
  StringBytes bytes(&out);
  const auto timing = FrameTiming::FromFps(fps);
  if (!timing.ok()) return timing.status();
  const absl::Status status = WriteVideo(frames, *timing, options, cancelled, &bytes);
  if (!status.ok()) return status;
  return out;
}

// Writes twice, and expects the same bytes whatever new memory holds.
std::string WriteTwice(const FrameBatch& frames, const EncodeOptions& options) {
  std::string videos[2];
  for (int i = 0; i < 2; ++i) {
    mallopt(M_PERTURB, i == 0 ? 0x55 : 0xaa);
    const auto video = Write(frames, options);
    mallopt(M_PERTURB, 0);
    EXPECT_TRUE(video.ok()) << video.status();
    videos[i] = video.value_or("");
  }
  EXPECT_TRUE(videos[0] == videos[1]) << TraitsOf(options.codec).name << " "
                                      << TraitsOf(options.container).name << " gop " << options.gop;
  return videos[0];
}

// Expects that writing fails with InvalidArgument and these words.
void ExpectRefused(const EncodeOptions& options, const char* words, double fps = 25) {
  const auto video = Write(Clip(64, 64, 2).frames, options, nullptr, fps);
  EXPECT_EQ(video.status().code(), absl::StatusCode::kInvalidArgument) << words;
  EXPECT_THAT(std::string(video.status().message()), HasSubstr(words));
}

TEST(VideoWriterTest, EveryPairGivesTheSameBytesTwiceOrAnError) {
  const Clip clip(176, 144, 20);
  int written = 0;
  for (const EncodeCodec codec : kCodecs) {
    for (const EncodeContainer container : kContainers) {
      EncodeOptions options = Options(codec, container);
      if (const absl::Status unfit = CheckContainer(container, codec); !unfit.ok()) {
        EXPECT_EQ(Write(clip.frames, options).status(), unfit);
        continue;
      }
      ++written;
      EXPECT_GT(WriteTwice(clip.frames, options).size(), 200u);
      for (const int gop : {1, 5}) {
        options.gop = gop;
        if (container == EncodeContainer::kMkv && options.Validate().ok()) {
          WriteTwice(clip.frames, options);
        }
      }
    }
  }
  EXPECT_EQ(written, 30);
}

TEST(VideoWriterTest, TheContainerHasTheStreamsAv1SequenceHeader) {
  const Clip clip(96, 64, 12);
  for (const EncodeContainer container : {EncodeContainer::kMp4, EncodeContainer::kMkv}) {
    for (const char* preset : {"12", "10", "8"}) {
      for (const char* format : {"yuv420p", "yuv420p10le"}) {
        EncodeOptions options = Options(EncodeCodec::kAv1, container);
        options.preset = preset;
        options.pixel_format = format;
        options.gop = 5;
        const auto video = Write(clip.frames, options);
        ASSERT_TRUE(video.ok()) << video.status();
        const MemorySource source(*video);
        auto demuxer = Demuxer::Open(source, nullptr);
        ASSERT_TRUE(demuxer.ok()) << demuxer.status();
        const AvPacketPtr packet(av_packet_alloc());
        ASSERT_TRUE((*demuxer)->Next(packet.get()).value());
        const auto sequence = ParameterSetsIn(*packet, AV_CODEC_ID_AV1);
        ASSERT_TRUE(sequence.ok()) << sequence.status();
        constexpr int kRecordBytes = 4;
        const AVCodecParameters& codec = *(*demuxer)->stream().codec;
        ASSERT_GT(codec.extradata_size, kRecordBytes);
        EXPECT_EQ(
            std::string(codec.extradata + kRecordBytes, codec.extradata + codec.extradata_size),
            *sequence)
            << preset << " " << format;
      }
    }
  }
}

TEST(VideoWriterTest, StopsWhenCancelled) {
  const Clip clip(64, 64, 40);
  for (const EncodeCodec codec : kCodecs) {
    for (const int after : {0, 1, 30, 50}) {
      int asked = 0;
      const auto video = Write(clip.frames, Options(codec), [&] { return asked++ == after; });
      EXPECT_EQ(video.status().code(), absl::StatusCode::kCancelled)
          << TraitsOf(codec).name << " after " << after << ": " << video.status();
      EXPECT_EQ(asked, after + 1) << "kept asking, or going, after it was told";
      EXPECT_THAT(std::string(video.status().message()), HasSubstr("of 40 frames"));
    }
  }
}

TEST(VideoWriterTest, NarrowHevcDoesNotOverrunItsLookAhead) {
  for (const int width : {16, 18, 34, 40, 48, 50}) {
    for (const int height : {16, 18, 32, 34, 48}) {
      const Clip clip(width, height, 8);
      EXPECT_TRUE(Write(clip.frames, Options(EncodeCodec::kHevc, EncodeContainer::kMp4)).ok())
          << width << "x" << height;
    }
  }
}

// The frames end at a page that must not be read, so an encoder that reads beyond them crashes.
TEST(VideoWriterTest, EncodersDoNotReadPastFramesThatAreNotCopied) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const EncodeCodec codec : kCodecs) {
    const bool even = TraitsOf(codec).even_sides;
    const Clip clip(even ? 102 : 101, even ? 66 : 67, 3, PixelFormat::kYuv420p);
    const size_t bytes = clip.frames.frame_bytes * clip.frames.count;
    const size_t pages = (bytes + page - 1) / page * page;
    auto* const memory = static_cast<uint8_t*>(
        mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(mprotect(memory + pages, page, PROT_NONE), 0);
    FrameBatch frames = clip.frames;
    frames.data = memory + pages - bytes;
    std::memcpy(memory + pages - bytes, clip.frames.data, bytes);
    // Encoders must not write to the caller's frames either.
    ASSERT_EQ(mprotect(memory, pages, PROT_READ), 0);
    EncodeOptions options = Options(codec);
    options.color_space = ColorSpace::kBt601;
    options.color_range = ColorRange::kFull;
    const auto guarded = Write(frames, options);
    ASSERT_TRUE(guarded.ok()) << guarded.status();
    const auto plain = Write(clip.frames, options);
    ASSERT_TRUE(plain.ok());
    EXPECT_TRUE(*guarded == *plain) << TraitsOf(codec).name;
    munmap(memory, pages + page);
  }
}

TEST(VideoWriterTest, CodecOptionsAreNamedWhenTheyAreWrong) {
  struct Case {
    EncodeCodec codec;
    const char *name, *value, *words;
  };
  const Case cases[] = {
      {EncodeCodec::kH264, "x264-parms", "a=b", "has no option \"x264-parms\""},
      {EncodeCodec::kH264, "x264-params", "bframez=2", "bad option 'bframez'"},
      {EncodeCodec::kH264, "x264-params", "bframes=two", "bad value for 'bframes'"},
      {EncodeCodec::kH264, "x264-params", "bframes", "must read key=value"},
      {EncodeCodec::kH264, "x264-params", "deblock=1\\:1", "use a comma"},
      {EncodeCodec::kH264, "tune", "speed", "made of film, animation"},
      {EncodeCodec::kH264, "profile", "baseline2", "must be one of baseline, main"},
      {EncodeCodec::kHevc, "x265-params", "bframez=2", "Unknown option: bframez"},
      {EncodeCodec::kHevc, "x265-params", "bframes=two", "Invalid value for bframes"},
      {EncodeCodec::kHevc, "x265-params", "input-res=640x480", "can't set input-res"},
      {EncodeCodec::kAv1, "svtav1-params", "tuna=1", "Error parsing option tuna: 1"},
      {EncodeCodec::kVp9, "deadline", "soon", "deadline"},
      {EncodeCodec::kFfv1, "x264-params", "a=b", "codec ffv1 (ffv1) has no option"},
      {EncodeCodec::kH264, "g", "5", "the same as the argument gop"},
      {EncodeCodec::kH264, "video_size", "640x480", "has no option \"video_size\""},
      {EncodeCodec::kH264, "flags", "+global_header", "has no option \"flags\""},
  };
  for (const Case& bad : cases) {
    ExpectRefused(Options(bad.codec, EncodeContainer::kMkv, {{bad.name, bad.value}}), bad.words);
  }
}

TEST(VideoWriterTest, RatesBeyondCodecOrContainerAreRefused) {
  EncodeOptions options = Options(EncodeCodec::kAv1, EncodeContainer::kMp4);
  ExpectRefused(options, "at most 240 frames a second", /*fps=*/250);
  options.bitrate = 100000;
  ExpectRefused(options, "use crf", /*fps=*/0.5);
  ExpectRefused(Options(EncodeCodec::kH264), "use container mp4",
                /*fps=*/1001);
}

TEST(VideoWriterTest, ExtremeRatesThreadsAndOwnParametersEncode) {
  const Clip clip(64, 64, 4);
  for (const EncodeCodec codec : kCodecs) {
    for (const auto& [fps, threads] :
         {std::pair(0.001, 0), {1000, 0}, {25, 1}, {25, 2}, {25, 64}}) {
      EncodeOptions options = Options(codec);
      options.num_threads = threads;
      if (codec == EncodeCodec::kHevc) options.codec_options = {{"x265-params", "ref=2:info=1"}};
      if (codec == EncodeCodec::kAv1) {
        options.codec_options = {{"svtav1-params", "tune=0:film-grain=4"}};
      }
      if (fps > TraitsOf(codec).max_fps) continue;
      const auto video = Write(clip.frames, options, nullptr, fps);
      EXPECT_TRUE(video.ok()) << TraitsOf(codec).name << " " << fps << " fps, " << threads
                              << " threads: " << video.status();
    }
  }
}

// SVT-AV1 fills its global variables differently for each of these sizes and presets. No size is 64
// pixels wide, because x265 3.5 encodes such frames to other bytes each time.
TEST(VideoWriterTest, EncodersOfDifferentStreamsRunBesideEachOther) {
  const Clip clips[] = {{96, 64, 4}, {128, 96, 4}, {320, 240, 4}};
  for (const EncodeCodec codec : kCodecs) {
    std::vector<EncodeOptions> options(3, Options(codec));
    if (codec == EncodeCodec::kAv1) options[1].preset = "5", options[2].preset = "10";
    std::vector<std::string> alone;
    for (int i = 0; i < 3; ++i) alone.push_back(*Write(clips[i].frames, options[i]));
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, i = thread % 3] {
        for (int round = 0; round < 8; ++round) {
          const auto video = Write(clips[i].frames, options[i]);
          if (!video.ok() || *video != alone[i]) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << TraitsOf(codec).name;
  }
}

TEST(VideoWriterTest, WaitingForAnotherAv1EncoderCanBeCancelled) {
  const Clip clip(64, 64, 4);
  const EncodeOptions options = Options(EncodeCodec::kAv1);
  bool waited = false;
  const auto video = Write(clip.frames, options, [&] {
    if (waited) return false;
    waited = true;
    absl::Status second;
    std::thread([&] { second = Write(clip.frames, options, [] { return true; }).status(); }).join();
    EXPECT_EQ(second.code(), absl::StatusCode::kCancelled) << second;
    EXPECT_THAT(std::string(second.message()), HasSubstr("waiting for another AV1 encoder"));
    return false;
  });
  EXPECT_TRUE(waited);
  EXPECT_TRUE(video.ok()) << video.status();
}

}  // namespace
}  // namespace nvc
