#include "tf_nvcodec/core/decode/window_stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/indexed_clip.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

// Counts the packets that its decoder gets.
class CountingDecoder : public Decoder {
 public:
  CountingDecoder(std::unique_ptr<Decoder> decoder, std::map<int64_t, int>* sent)
      : decoder_(std::move(decoder)), sent_(*sent) {}
  absl::Status Send(const AVPacket* packet) override {
    if (packet != nullptr) ++sent_[packet->pos];
    return decoder_->Send(packet);
  }
  absl::StatusOr<bool> Receive(AVFrame* frame) override { return decoder_->Receive(frame); }
  bool TakeErrors() override { return decoder_->TakeErrors(); }
  void Reset() override { decoder_->Reset(); }

 private:
  const std::unique_ptr<Decoder> decoder_;
  std::map<int64_t, int>& sent_;
};

// Reads windows into memory of its own.
class Reader {
 public:
  Reader(const FrameIndex& index, const ByteSource& source, std::vector<Window> windows,
         size_t ahead, ReadOptions options, OnError on_error = OnError::kRaise)
      : windows_(std::move(windows)), frames_(windows_.size()) {
    WindowStream::Memory memory;
    // Hardware keeps no pictures: it also writes what comes before a picture that it owes.
    const bool has_limit = ahead > 0 && options.factory.open == nullptr;
    memory.allocate = [this, ahead, has_limit](size_t window, const FrameShape& shape,
                                               int64_t count) -> absl::StatusOr<void*> {
      std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_TRUE(frames_[window].empty());
      if (has_limit && window > reading_ + ahead) {
        EXPECT_LE(windows_[window].front(), windows_[reading_ + ahead].back()) << "no room";
      }
      frames_[window].resize(shape.bytes * static_cast<size_t>(count));
      frame_bytes_ = shape.bytes;
      return frames_[window].data();
    };
    memory.new_target = [] { return std::make_unique<HostTarget>(); };
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    auto opened = WindowStream::Open(index, source, windows_, ahead, {output}, on_error,
                                     std::move(options), std::move(memory));
    EXPECT_TRUE(opened.ok()) << opened.status();
    stream_ = std::move(opened).value();
  }

  // Returns the window's result and puts its frames into `frames`.
  WindowStream::Result Read(size_t window, std::vector<std::string>* frames,
                            const Cancelled& cancelled = nullptr) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      reading_ = window;
    }
    WindowStream::Result result;
    const absl::Status status = stream_->Read(window, cancelled, &result);
    if (!status.ok()) return {status, {}, {}};
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string& bytes = frames_[window];
    for (size_t i = 0; i < bytes.size(); i += frame_bytes_) {
      frames->push_back(bytes.substr(i, frame_bytes_));
    }
    return result;
  }

  bool HasMemory(size_t window) {
    std::lock_guard<std::mutex> lock(mutex_);
    return !frames_[window].empty();
  }
  WindowStream* stream() { return stream_.get(); }

 private:
  const std::vector<Window> windows_;
  std::mutex mutex_;
  std::vector<std::string> frames_;
  size_t frame_bytes_ = 0;
  size_t reading_ = 0;
  std::unique_ptr<WindowStream> stream_;
};

class WindowStreamTest : public IndexedClipTest, public ::testing::WithParamInterface<int> {
 protected:
  WindowStreamTest() : IndexedClipTest(BFramesClip(), kBFramesClipFrames) {
    options_.num_threads = GetParam();
  }

  std::vector<Window> Windows(int64_t length, int64_t stride, int64_t step) const {
    std::vector<Window> windows;
    for (int64_t start = 0; start + (length - 1) * stride < index_.num_frames(); start += step) {
      Window window;
      for (int64_t i = 0; i < length; ++i) window.push_back(start + i * stride);
      windows.push_back(std::move(window));
    }
    return windows;
  }

  // Returns all frames of the clip, decoded by one ReadFrames.
  std::vector<std::string> Reference() {
    std::vector<std::string> frames(all_.size());
    std::string memory;
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    HostTarget target;
    size_t bytes = 0;
    FrameCollector collector(
        output, {}, all_,
        [&](const FrameShape& shape, int64_t count) {
          bytes = shape.bytes;
          memory.resize(bytes * static_cast<size_t>(count));
          return memory.data();
        },
        &target);
    ReadOptions options;
    options.num_threads = 1;
    DamagedFrames damaged;
    EXPECT_TRUE(ReadFrames(index_, source_, all_, options, &collector, &damaged).ok());
    for (size_t i = 0; i < frames.size(); ++i) frames[i] = memory.substr(i * bytes, bytes);
    return frames;
  }

  ReadOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Threads, WindowStreamTest, ::testing::Values(1, 2, 4));

TEST_P(WindowStreamTest, RandomWindowsEqualTheReference) {
  const auto reference = Reference();
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const auto draw = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
    const std::vector<Window> windows = Windows(draw(20), draw(3), draw(25));
    const auto ahead = static_cast<size_t>(draw(4));
    Reader reader(index_, source_, windows, ahead, options_);
    for (size_t i = 0; i < windows.size(); ++i) {
      std::vector<std::string> frames;
      const auto result = reader.Read(i, &frames);
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_EQ(frames.size(), windows[i].size());
      for (size_t k = 0; k < frames.size(); ++k) {
        ASSERT_TRUE(frames[k] == reference[static_cast<size_t>(windows[i][k])])
            << "round " << round << ", window " << i << ", place " << k;
      }
    }
  }
}

TEST_P(WindowStreamTest, EachPacketIsSentOnce) {
  std::map<int64_t, int> sent;
  options_.factory.open =
      [&](const AVCodecParameters& codec, AVRational time_base,
          const DecoderOptions& options) -> absl::StatusOr<std::unique_ptr<Decoder>> {
    auto decoder = OpenSoftwareDecoder(codec, time_base, options);
    if (!decoder.ok()) return decoder.status();
    return std::make_unique<CountingDecoder>(std::move(decoder).value(), &sent);
  };
  const std::vector<Window> windows = Windows(16, 1, 4);
  Reader reader(index_, source_, windows, 2, options_);
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    ASSERT_TRUE(reader.Read(i, &frames).status.ok());
  }
  EXPECT_EQ(sent.size(), index_.packets().size());
  for (const auto& [packet, times] : sent) EXPECT_EQ(times, 1) << "packet " << packet;
}

TEST_P(WindowStreamTest, DamageReachesOnlyWindowsWithDamagedFrames) {
  const auto reference = Reference();
  int target = -1;
  for (int i = 24; i < kBFramesClipFrames && target < 0; ++i) {
    const PacketEntry& packet = index_.packets()[static_cast<size_t>(i)];
    if (!packet.droppable && !packet.random_access) target = i;
  }
  const PacketEntry& broken = index_.packets()[static_cast<size_t>(target)];
  std::fill_n(bytes_.begin() + broken.offset + 5, broken.size - 5, '\0');
  const MemorySource source(bytes_);
  HashSink sink;
  DamagedFrames damaged;
  ReadOptions careful;
  careful.num_threads = 1;
  ASSERT_TRUE(ReadFrames(index_, source, all_, careful, &sink, &damaged).ok());
  ASSERT_GE(damaged.size(), 1u);
  ASSERT_LT(damaged.size(), 40u);
  for (const OnError policy : {OnError::kRaise, OnError::kRepeat, OnError::kSkip}) {
    const std::vector<Window> windows = Windows(5, 1, 3);
    Reader reader(index_, source, windows, 3, options_, policy);
    int failed = 0;
    for (size_t i = 0; i < windows.size(); ++i) {
      size_t bad = 0;
      for (const int64_t frame : windows[i]) bad += damaged.count(static_cast<int>(frame));
      std::vector<std::string> frames;
      const auto result = reader.Read(i, &frames);
      if (bad == 5 || (bad > 0 && policy == OnError::kRaise)) {
        if (policy != OnError::kSkip) {
          EXPECT_TRUE(absl::IsDataLoss(result.status)) << i << result.status;
          EXPECT_THAT(result.status.message(), HasSubstr("can't be decoded: packet"));
        }
        ++failed;
        continue;
      }
      ASSERT_TRUE(result.status.ok()) << i << result.status;
      ASSERT_EQ(result.slots.size(), policy == OnError::kSkip ? 5 - bad : 5);
      for (size_t k = 0; k < result.slots.size(); ++k) {
        const int64_t frame = windows[i][result.slots[k]];
        EXPECT_EQ(result.valid[k], damaged.count(static_cast<int>(frame)) == 0);
        if (result.valid[k]) EXPECT_TRUE(frames[k] == reference[static_cast<size_t>(frame)]);
      }
    }
    EXPECT_GT(failed, 0);
  }
}

TEST_P(WindowStreamTest, FramesThatNeverComeDoNotStopTheStream) {
  // The decoder swallows a picture without an error.
  options_.factory.open =
      [](const AVCodecParameters& codec, AVRational time_base,
         const DecoderOptions& options) -> absl::StatusOr<std::unique_ptr<Decoder>> {
    class Swallows : public Decoder {
     public:
      explicit Swallows(std::unique_ptr<Decoder> decoder) : decoder_(std::move(decoder)) {}
      absl::Status Send(const AVPacket* packet) override { return decoder_->Send(packet); }
      absl::StatusOr<bool> Receive(AVFrame* frame) override {
        auto received = decoder_->Receive(frame);
        if (received.ok() && *received && PacketPos(*frame) == 3) {
          av_frame_unref(frame);
          return decoder_->Receive(frame);
        }
        return received;
      }
      bool TakeErrors() override { return false; }
      void Reset() override { decoder_->Reset(); }

     private:
      const std::unique_ptr<Decoder> decoder_;
    };
    auto decoder = OpenSoftwareDecoder(codec, time_base, options);
    if (!decoder.ok()) return decoder.status();
    return std::make_unique<Swallows>(std::move(decoder).value());
  };
  const auto reference = Reference();
  const std::vector<Window> windows = Windows(1, 1, 1);
  Reader reader(index_, source_, windows, 1, options_);
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    const auto result = reader.Read(i, &frames);
    ASSERT_TRUE(result.status.ok()) << "FFmpeg decodes it again: " << result.status;
    EXPECT_TRUE(frames[0] == reference[i]);
  }
}

TEST_P(WindowStreamTest, SkippedWindowsTakeNoMemory) {
  const std::vector<Window> windows = Windows(4, 1, 4);
  Reader reader(index_, source_, windows, 1, options_);
  std::vector<std::string> frames;
  ASSERT_TRUE(reader.Read(0, &frames).status.ok());
  ASSERT_TRUE(reader.Read(10, &frames).status.ok());
  for (size_t i = 2; i < 10; ++i) EXPECT_FALSE(reader.HasMemory(i)) << i;
  EXPECT_TRUE(reader.HasMemory(10));
}

TEST_P(WindowStreamTest, AllWindowsAtOnce) {
  const auto reference = Reference();
  const std::vector<Window> windows = Windows(5, 1, 3);
  Reader reader(index_, source_, windows, /*ahead=*/0, options_);
  EXPECT_FALSE(reader.stream()->IsDecoding());
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    ASSERT_TRUE(reader.Read(i, &frames).status.ok());
    EXPECT_TRUE(frames[0] == reference[static_cast<size_t>(windows[i][0])]);
  }
}

// Opens streams, skips, stops and closes them at any time. TF_NVCODEC_SOAK sets the number.
TEST_P(WindowStreamTest, NothingStandsStill) {
  const char* const soak = std::getenv("TF_NVCODEC_SOAK");
  const int rounds = soak != nullptr ? std::atoi(soak) : 200;
  const auto reference = Reference();
  std::mt19937 random(GetParam());
  const auto draw = [&](uint32_t most) { return static_cast<int64_t>(random() % most); };
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Window> windows = Windows(1 + draw(20), 1 + draw(3), 1 + draw(25));
    options_.kept_pictures = draw(2) * draw(40);
    Reader reader(index_, source_, windows, static_cast<size_t>(draw(5)), options_);
    std::thread stopper;
    if (draw(4) == 0) {
      const auto after = std::chrono::microseconds(draw(20'000));
      stopper = std::thread([&reader, after] {
        std::this_thread::sleep_for(after);
        reader.stream()->Stop();
      });
    }
    const size_t end = draw(2) == 0 ? windows.size() : static_cast<size_t>(draw(10));
    for (size_t i = static_cast<size_t>(draw(3)); i < std::min(end, windows.size());
         i += static_cast<size_t>(1 + (draw(4) == 0 ? draw(12) : 0))) {
      std::vector<std::string> frames;
      const auto result = reader.Read(i, &frames);
      if (absl::IsCancelled(result.status)) break;
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_TRUE(frames.back() == reference[static_cast<size_t>(windows[i].back())]);
    }
    if (stopper.joinable()) stopper.join();
  }
}

TEST_P(WindowStreamTest, AFailureEndsTheStream) {
  class Unreadable : public ByteSource {
   public:
    explicit Unreadable(const MemorySource* source) : source_(source) {}
    int64_t Size() const override { return source_->Size(); }
    absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
      if (offset > source_->Size() / 2) return absl::UnavailableError("the server is gone");
      return source_->ReadAt(offset, out, count);
    }

   private:
    const MemorySource* const source_;
  };
  const Unreadable source(&source_);
  const std::vector<Window> windows = Windows(1, 1, 1);
  Reader reader(index_, source, windows, 1, options_);
  absl::Status status;
  for (size_t i = 0; i < windows.size() && status.ok(); ++i) {
    std::vector<std::string> frames;
    status = reader.Read(i, &frames).status;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_P(WindowStreamTest, AReadHasATimeLimit) {
  class Hangs : public ByteSource {
   public:
    Hangs(const MemorySource* source, int64_t from) : source_(source), from_(from) {}
    int64_t Size() const override { return source_->Size(); }
    absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
      std::unique_lock<std::mutex> lock(mutex);
      if (offset >= from_) changed.wait(lock, [this] { return over; });
      return source_->ReadAt(offset, out, count);
    }
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    bool over = false;

   private:
    const MemorySource* const source_;
    const int64_t from_;
  };
  const std::vector<Window> windows = Windows(4, 1, 4);
  Hangs source(&source_, index_.packets()[index_.packets().size() / 2].offset);
  Reader reader(index_, source, windows, 1, options_);
  std::vector<std::string> frames;
  ASSERT_TRUE(reader.Read(0, &frames).status.ok());
  const auto last =
      reader.Read(windows.size() - 1, &frames, Cancelled().Before(Deadline(0.2))).status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(last)) << last;
  EXPECT_THAT(last.message(), HasSubstr("0.2 s"));
  std::lock_guard<std::mutex> lock(source.mutex);
  source.over = true;
  source.changed.notify_all();
}

TEST(WindowStreamSampleTableTest, AFalseSyncSampleIsAWrongIndex) {
  std::string bytes = RealClip();
  bytes.replace(bytes.find("stss"), 4, "free");  // now every sample counts as a sync sample
  const MemorySource source(bytes);
  FrameIndex::Limits limits;
  limits.believe_sample_table = true;
  const FrameIndex index = FrameIndex::Build(source, limits, nullptr).value();
  Reader reader(index, source, {{5, 6, 7, 8}, {9, 10, 11, 12}}, 1, ReadOptions());
  std::vector<std::string> frames;
  const absl::Status status = reader.Read(0, &frames).status;
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("is a sync sample, but"));
}

}  // namespace
}  // namespace nvc
