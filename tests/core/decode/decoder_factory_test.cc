// Tests ReadFrames with a decoder of the caller's own (ReadOptions::factory), as the GPU's is.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/indexed_clip.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/decode/frame_stream.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

namespace nvc {
namespace {

// The caller's decoder wraps FFmpeg's and fails where a test says so.
class DecoderFactoryTest : public IndexedClipTest {
 protected:
  struct Result {
    std::map<int, size_t> hashes;
    DamagedFrames damaged;
  };

  DecoderFactoryTest() : IndexedClipTest(BFramesClip(), kBFramesClipFrames) {}

  class Wrapped : public Decoder {
   public:
    Wrapped(DecoderFactoryTest* test, std::unique_ptr<Decoder> decoder)
        : test_(test), decoder_(std::move(decoder)) {
      const int open = ++test_->open_;
      std::lock_guard<std::mutex> lock(test_->mutex_);
      test_->most_open_ = std::max(test_->most_open_, open);
    }
    ~Wrapped() override { --test_->open_; }
    absl::Status Send(const AVPacket* packet) override {
      if (packet != nullptr && packet->pos == test_->fault_at_) {
        lost_ = test_->fault_is_lasting_;
        return test_->fault_;
      }
      if (lost_) return test_->fault_;
      if (packet != nullptr && packet->pos == test_->flags_at_) flag_ = true;
      if (test_->open_ > test_->most_that_fit_) return absl::ResourceExhaustedError("full");
      return decoder_->Send(packet);
    }
    absl::StatusOr<bool> Receive(AVFrame* frame) override {
      if (lost_) return test_->fault_;
      while (true) {
        absl::StatusOr<bool> received = decoder_->Receive(frame);
        if (!received.ok() || !*received || PacketPos(*frame) != test_->loses_) return received;
        av_frame_unref(frame);
      }
    }
    // FFmpeg's own flag also tells of leading pictures, which a GPU's parser drops.
    bool TakeErrors() override { return std::exchange(flag_, false); }
    void Reset() override { decoder_->Reset(); }

   private:
    DecoderFactoryTest* const test_;
    bool lost_ = false;
    bool flag_ = false;
    std::unique_ptr<Decoder> decoder_;
  };

  // Checks that every worker that wrote frames also left, since only Leave completes its writes.
  class LeavingSink : public HashSink {
   public:
    absl::Status Write(int worker, int frame, const AVFrame& picture) override {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        writing_.insert(worker);
      }
      return HashSink::Write(worker, frame, picture);
    }
    void Leave(int worker) override {
      std::lock_guard<std::mutex> lock(mutex_);
      writing_.erase(worker);
    }
    ~LeavingSink() override { EXPECT_THAT(writing_, ::testing::IsEmpty()); }

   private:
    std::mutex mutex_;
    std::set<int> writing_;
  };

  absl::Status Read(int max_workers, Result* result, DecoderQuota* quota = nullptr) {
    LeavingSink sink;
    ReadOptions options;
    options.factory.open =
        [this](const AVCodecParameters& codec, AVRational time_base,
               const DecoderOptions& options) -> absl::StatusOr<std::unique_ptr<Decoder>> {
      EXPECT_EQ(options.num_threads, 1);
      ++opened_;
      auto decoder = OpenSoftwareDecoder(codec, time_base, options);
      if (!decoder.ok()) return decoder.status();
      return std::make_unique<Wrapped>(this, std::move(decoder).value());
    };
    options.factory.max_workers = max_workers;
    options.factory.quota = quota;
    options.factory.before_decoding_again = [this](const DamagedFrames& damaged) {
      ++asked_;
      EXPECT_EQ(damaged.empty(), flags_at_ >= 0);
      for (const auto& [frame, status] : damaged) said_.push_back(status);
      return answer_;
    };
    const absl::Status status = ReadFrames(index_, source_, all_, options, &sink, &result->damaged);
    result->hashes = std::move(sink.hashes);
    return status;
  }

  // Reads all frames, of which software decodes one segment again.
  void ExpectASegmentAgain() {
    const auto wanted = BySoftware();
    Result result;
    ASSERT_TRUE(Read(1, &result).ok());
    EXPECT_EQ(result.hashes, wanted);
    EXPECT_TRUE(result.damaged.empty()) << "the fault is the other decoder's alone";
    EXPECT_EQ(asked_, 1);
    EXPECT_EQ(opened_, 2) << "the next segment is the other decoder's again, with a new one";
  }

  std::mutex mutex_;
  std::atomic<int> open_{0}, opened_{0}, asked_{0};
  int most_open_ = 0;
  int most_that_fit_ = 1000;
  int64_t fault_at_ = -1;
  absl::Status fault_ = absl::DataLossError("a fault");
  bool fault_is_lasting_ = false;
  int64_t flags_at_ = -1;           // the packet at which TakeErrors tells of an error
  int64_t loses_ = -1;              // the packet whose picture never comes
  std::vector<absl::Status> said_;  // the statuses that before_decoding_again got
  absl::Status answer_;
};

TEST_F(DecoderFactoryTest, WorkersShareTheSegments) {
  const auto wanted = BySoftware();
  for (const int workers : {1, 3}) {
    opened_ = most_open_ = 0;
    Result result;
    ASSERT_TRUE(Read(workers, &result).ok());
    EXPECT_EQ(result.hashes, wanted);
    EXPECT_LE(opened_, workers);
    EXPECT_LE(most_open_, workers);
    EXPECT_EQ(asked_, 0);
  }
}

// Has room for two decoders, each for one segment at a time.
class ShortTurns : public DecoderQuota {
 public:
  bool Take(const std::function<bool()>& enough) override {
    std::unique_lock<std::mutex> lock(mutex_);
    bool has_enough = false;
    changed_.wait(lock, [&] { return (has_enough = enough()) || left_ > 0; });
    if (!has_enough) --left_, ++taken;
    return !has_enough;
  }
  bool MayKeep() override { return false; }
  void GiveBack() override {
    EXPECT_LE(*open, 1) << "the decoder of the turn is closed";
    std::lock_guard<std::mutex> lock(mutex_);
    ++left_;
    changed_.notify_all();
  }
  void AskAgain() override {
    std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
  }
  ~ShortTurns() override { EXPECT_EQ(left_, 2); }

  int taken = 0;
  const std::atomic<int>* open = nullptr;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_ = 2;
};

TEST_F(DecoderFactoryTest, WorkersTakeTurns) {
  const auto wanted = BySoftware();
  ShortTurns turns;
  turns.open = &open_;
  Result result;
  ASSERT_TRUE(Read(3, &result, &turns).ok());
  EXPECT_EQ(result.hashes, wanted);
  EXPECT_LE(most_open_, 2);
  EXPECT_GE(turns.taken, opened_);
  EXPECT_GE(opened_, 3) << "one for each segment";
}

// Has room for one decoder. A worker that waits for it gets nothing and leaves.
class OneTurn : public DecoderQuota {
 public:
  bool Take(const std::function<bool()>& enough) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!taken_) {
      taken_ = true;
      return true;
    }
    EXPECT_TRUE(asked_again_.wait_for(lock, std::chrono::minutes(1), enough));
    return false;
  }
  bool MayKeep() override { return true; }
  void GiveBack() override {
    std::lock_guard<std::mutex> lock(mutex_);
    taken_ = false;
  }
  void AskAgain() override {
    std::lock_guard<std::mutex> lock(mutex_);
    asked_again_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_again_;
  bool taken_ = false;
};

TEST_F(DecoderFactoryTest, AWaitingWorkerLeavesWhenNoTurnIsNeeded) {
  const auto wanted = BySoftware();
  OneTurn turn;
  Result result;
  ASSERT_TRUE(Read(3, &result, &turn).ok());
  EXPECT_EQ(result.hashes, wanted);
  fault_at_ = 3;
  fault_ = absl::InternalError("the GPU is gone");
  EXPECT_EQ(Read(3, &result, &turn), fault_);
}

TEST_F(DecoderFactoryTest, ATurnIsNotKeptForASoftwareDecoder) {
  class NoneIsOpen : public OneTurn {
   public:
    explicit NoneIsOpen(const std::atomic<int>* open) : open_(open) {}
    void GiveBack() override {
      EXPECT_EQ(*open_, 0);
      ++given_back;
      OneTurn::GiveBack();
    }
    int given_back = 0;

   private:
    const std::atomic<int>* const open_;
  };
  fault_at_ = 3;
  NoneIsOpen turn(&open_);
  Result result;
  ASSERT_TRUE(Read(1, &result, &turn).ok());
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(turn.given_back, 2);
}

TEST_F(DecoderFactoryTest, FewPicturesOpenOneDecoder) {
  all_.clear();
  for (int64_t i = 0; i < index_.num_frames(); ++i) {
    const FrameEntry& frame = index_.frames()[static_cast<size_t>(i)];
    if (frame.packet == frame.start_packet) all_.push_back(i);
  }
  ASSERT_GE(all_.size(), 3u);
  Result result;
  ASSERT_TRUE(Read(8, &result).ok());
  EXPECT_EQ(result.hashes.size(), all_.size());
  EXPECT_EQ(opened_, 1);
}

TEST_F(DecoderFactoryTest, FewerWorkersRunWhenMemoryIsShort) {
  const auto wanted = BySoftware();
  for (int i = 0; i < 20; ++i) {
    most_that_fit_ = 1 + i % 2;
    ShortTurns turns;
    turns.open = &open_;
    Result result;
    const absl::Status status = Read(3, &result, i < 10 ? nullptr : &turns);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(result.hashes, wanted);
    EXPECT_TRUE(result.damaged.empty());
    EXPECT_EQ(open_, 0);
  }
  most_that_fit_ = 0;
  Result result;
  EXPECT_TRUE(absl::IsResourceExhausted(Read(3, &result)));
}

TEST_F(DecoderFactoryTest, ASoftwareDecoderDecodesDamagedSegmentsAgain) {
  fault_at_ = 3;
  ExpectASegmentAgain();
}

TEST_F(DecoderFactoryTest, ALostPictureIsDamageIfAWantedOneRefersToIt) {
  const auto wanted = BySoftware();
  all_ = {10};
  for (const int64_t loses : {0, 1}) {
    loses_ = loses;
    asked_ = 0;
    Result result;
    ASSERT_TRUE(Read(1, &result).ok());
    EXPECT_EQ(result.hashes.at(10), wanted.at(10));
    ASSERT_EQ(asked_, 1) << loses;
    EXPECT_THAT(said_.back().message(), ::testing::HasSubstr("gave no picture"));
  }
}

TEST_F(DecoderFactoryTest, AnErrorThatOnlyTheFlagTellsIsDamage) {
  flags_at_ = 3;
  ExpectASegmentAgain();
}

TEST_F(DecoderFactoryTest, TheReadFailsIfItMayNotDecodeAgain) {
  fault_at_ = 3;
  answer_ = absl::UnimplementedError("not here");
  Result result;
  EXPECT_EQ(Read(2, &result), answer_);
  EXPECT_EQ(open_, 0);
}

TEST_F(DecoderFactoryTest, ReportsARefusalAfterMissingPictures) {
  fault_at_ = 1;  // before the decoder returns the first picture
  fault_ = absl::UnimplementedError("not such pictures");
  fault_is_lasting_ = true;
  Result result;
  ASSERT_TRUE(Read(1, &result).ok());
  EXPECT_GT(std::count_if(said_.begin(), said_.end(), absl::IsUnimplemented), 1);
}

TEST_F(DecoderFactoryTest, ADecoderFailureIsNotDamage) {
  fault_at_ = 3;
  for (const absl::Status& fault :
       {absl::InternalError("the GPU is gone"), absl::ResourceExhaustedError("no memory"),
        absl::FailedPreconditionError("no driver")}) {
    fault_ = fault;
    asked_ = 0;
    Result result;
    EXPECT_EQ(Read(2, &result), fault);
    EXPECT_EQ(asked_, 0);
    EXPECT_TRUE(result.damaged.empty());
  }
}

}  // namespace
}  // namespace nvc
