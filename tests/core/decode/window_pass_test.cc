#include "tf_nvcodec/core/decode/window_pass.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
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

// Runs a pass as its users do: a thread decodes, and the caller takes window after window.
class Consumer {
 public:
  Consumer(const FrameIndex& index, const ByteSource& source, std::vector<Window> windows,
           size_t ahead, ReadOptions options, OnError on_error = OnError::kRaise,
           double seconds_per_window = 0)
      : windows_(std::move(windows)), ahead_(ahead), memory_(windows_.size()) {
    WindowPass::Callbacks callbacks;
    callbacks.allocate = [this](size_t window, const FrameShape& shape,
                                int64_t count) -> absl::StatusOr<void*> {
      std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_TRUE(memory_[window].empty());
      memory_[window].resize(shape.bytes * static_cast<size_t>(count));
      frame_bytes_ = shape.bytes;
      most_open_ = std::max(most_open_, ++open_);
      return memory_[window].data();
    };
    callbacks.new_target = [] { return std::make_unique<HostTarget>(); };
    callbacks.finished = [this](size_t window, WindowPass::Result result) {
      std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_TRUE(results_.emplace(window, std::move(result)).second);
      changed_.notify_all();
    };
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    pass_ = std::make_unique<WindowPass>(index, source, windows_, ahead, output, on_error,
                                         std::move(options), std::move(callbacks));
    pass_->LimitWindows(seconds_per_window);
    thread_ = std::thread([this] {
      const absl::Status status = pass_->Run();
      std::lock_guard<std::mutex> lock(mutex_);
      status_ = status;
      ended_ = true;
      changed_.notify_all();
    });
  }
  ~Consumer() {
    pass_->Stop();
    thread_.join();
  }

  // Returns the window's result and puts its frames into `frames`. Returns the status of the pass
  // if that ends first.
  WindowPass::Result Take(size_t window, std::vector<std::string>* frames) {
    pass_->Allow(window + ahead_);
    std::unique_lock<std::mutex> lock(mutex_);
    while (results_.count(window) == 0 && !ended_) changed_.wait(lock);
    const auto found = results_.find(window);
    if (found == results_.end()) return {status_, {}, {}};
    --open_;
    const std::string& bytes = memory_[window];
    for (size_t i = 0; i < bytes.size(); i += frame_bytes_) {
      frames->push_back(bytes.substr(i, frame_bytes_));
    }
    return found->second;
  }

  WindowPass* pass() { return pass_.get(); }
  int most_open() const { return most_open_; }

 private:
  const std::vector<Window> windows_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> memory_;
  size_t frame_bytes_ = 0;
  std::map<size_t, WindowPass::Result> results_;
  int open_ = 0, most_open_ = 0;
  absl::Status status_;
  bool ended_ = false;
  std::unique_ptr<WindowPass> pass_;
  std::thread thread_;
};

class WindowPassTest : public IndexedClipTest, public ::testing::WithParamInterface<int> {
 protected:
  WindowPassTest() : IndexedClipTest(BFramesClip(), kBFramesClipFrames) {
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

INSTANTIATE_TEST_SUITE_P(Threads, WindowPassTest, ::testing::Values(1, 2, 4));

TEST_P(WindowPassTest, RandomWindowsEqualTheReference) {
  const auto reference = Reference();
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const auto draw = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
    const std::vector<Window> windows = Windows(draw(20), draw(3), draw(25));
    const auto ahead = static_cast<size_t>(draw(4));
    Consumer consumer(index_, source_, windows, ahead, options_);
    for (size_t i = 0; i < windows.size(); ++i) {
      std::vector<std::string> frames;
      const auto result = consumer.Take(i, &frames);
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_EQ(frames.size(), windows[i].size());
      for (size_t k = 0; k < frames.size(); ++k) {
        ASSERT_TRUE(frames[k] == reference[static_cast<size_t>(windows[i][k])])
            << "round " << round << ", window " << i << ", place " << k;
      }
    }
  }
}

TEST_P(WindowPassTest, EachPacketIsSentOnce) {
  std::map<int64_t, int> sent;
  options_.factory.open =
      [&](const AVCodecParameters& codec, AVRational time_base,
          const DecoderOptions& options) -> absl::StatusOr<std::unique_ptr<Decoder>> {
    auto decoder = OpenSoftwareDecoder(codec, time_base, options);
    if (!decoder.ok()) return decoder.status();
    return std::make_unique<CountingDecoder>(std::move(decoder).value(), &sent);
  };
  const std::vector<Window> windows = Windows(16, 1, 4);
  Consumer consumer(index_, source_, windows, 2, options_);
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    ASSERT_TRUE(consumer.Take(i, &frames).status.ok());
  }
  EXPECT_EQ(sent.size(), index_.packets().size());
  for (const auto& [packet, times] : sent) EXPECT_EQ(times, 1) << "packet " << packet;
}

TEST_P(WindowPassTest, MemoryIsBoundedByTheWindows) {
  const std::vector<Window> windows = Windows(4, 1, 4);
  Consumer consumer(index_, source_, windows, 2, options_);
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    ASSERT_TRUE(consumer.Take(i, &frames).status.ok());
  }
  // Pictures that come before those of earlier windows are not written yet.
  EXPECT_EQ(consumer.most_open(), 2);
}

TEST_P(WindowPassTest, DamageReachesOnlyWindowsWithDamagedFrames) {
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
    Consumer consumer(index_, source, windows, 3, options_, policy);
    int failed = 0;
    for (size_t i = 0; i < windows.size(); ++i) {
      size_t bad = 0;
      for (const int64_t frame : windows[i]) bad += damaged.count(static_cast<int>(frame));
      std::vector<std::string> frames;
      const auto result = consumer.Take(i, &frames);
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

TEST_P(WindowPassTest, FramesThatNeverComeDoNotStopThePass) {
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
  Consumer consumer(index_, source_, windows, 1, options_);
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<std::string> frames;
    const auto result = consumer.Take(i, &frames);
    ASSERT_TRUE(result.status.ok()) << "FFmpeg decodes it again: " << result.status;
    EXPECT_TRUE(frames[0] == reference[i]);
  }
}

TEST_P(WindowPassTest, DroppedWindowsTakeNoMemoryAndStopEnds) {
  const std::vector<Window> windows = Windows(4, 1, 4);
  Consumer consumer(index_, source_, windows, 1, options_);
  std::vector<std::string> frames;
  ASSERT_TRUE(consumer.Take(0, &frames).status.ok());
  for (size_t i = 5; i < 10; ++i) consumer.pass()->Drop(i);
  consumer.pass()->Drop(windows.size() + 1000);
  ASSERT_TRUE(consumer.Take(10, &frames).status.ok());
  EXPECT_LE(consumer.pass()->num_finished(), 12u);
  consumer.pass()->Stop();
  EXPECT_TRUE(absl::IsCancelled(consumer.Take(windows.size() - 1, &frames).status));
}

TEST_P(WindowPassTest, AFailureEndsThePass) {
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
  Consumer consumer(index_, source, windows, 1, options_);
  absl::Status status;
  for (size_t i = 0; i < windows.size() && status.ok(); ++i) {
    std::vector<std::string> frames;
    status = consumer.Take(i, &frames).status;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_P(WindowPassTest, OnlyAWindowThatIsDecodedHasALimit) {
  static constexpr double kSeconds = 0.5;
  class Slow : public ByteSource {
   public:
    Slow(const MemorySource* source, int64_t slow_from) : source_(source), from_(slow_from) {}
    int64_t Size() const override { return source_->Size(); }
    absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
      if (offset >= from_) std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
      return source_->ReadAt(offset, out, count);
    }

   private:
    const MemorySource* const source_;
    const int64_t from_;
  };
  const std::vector<Window> windows = Windows(4, 1, 4);
  const int64_t middle = index_.packets()[index_.packets().size() / 2].offset;
  const Slow source(&source_, middle);
  Consumer consumer(index_, source, windows, 1, options_, OnError::kRaise, kSeconds);
  std::vector<std::string> frames;
  ASSERT_TRUE(consumer.Take(0, &frames).status.ok());
  std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * kSeconds));
  const auto waited = consumer.Take(1, &frames).status;
  EXPECT_TRUE(waited.ok()) << "the consumer's own time counted: " << waited;
  const auto last = consumer.Take(windows.size() - 1, &frames).status;
  EXPECT_TRUE(absl::IsDeadlineExceeded(last)) << last;
  EXPECT_THAT(last.message(), HasSubstr("0.5 s"));
}

}  // namespace
}  // namespace nvc
