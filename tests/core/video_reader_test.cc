#include "tf_nvcodec/core/video_reader.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/decoded_hashes.h"
#include "tests/core/test_media.h"

namespace {

std::atomic<bool> no_more_threads{false};

}  // namespace

// Goes before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  if (no_more_threads) return EAGAIN;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}

namespace nvc {
namespace {

using ::testing::HasSubstr;

struct Result {
  std::map<int, size_t> hashes;
  DamagedFrames damaged;
};

Result Read(const FrameIndex& index, const ByteSource& source, const std::vector<int64_t>& frames,
            int num_threads = 1) {
  HashSink sink;
  Result result;
  ReadOptions options;
  options.num_threads = num_threads;
  const absl::Status status = ReadFrames(index, source, frames, options, &sink, &result.damaged);
  EXPECT_TRUE(status.ok()) << status;
  result.hashes = std::move(sink.hashes);
  return result;
}

// Zeros behind the NAL unit's length and header are no slice header. (Damage further inside a slice
// often decodes to something: H.264 has no checksum.)
void BreakSlices(std::string* bytes, const PacketEntry& packet) {
  std::fill_n(bytes->begin() + packet.offset + 5, packet.size - 5, '\0');
}

class VideoReaderTest : public ::testing::Test {
 protected:
  VideoReaderTest()
      : bytes_(BFramesClip()),
        source_(bytes_),
        index_(FrameIndex::Build(source_, {}, nullptr).value()),
        all_(kBFramesClipFrames) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  std::string bytes_;
  MemorySource source_;
  FrameIndex index_;
  std::vector<int64_t> all_;
};

TEST_F(VideoReaderTest, RandomFramesEqualTheSequentialOnes) {
  const auto sequential = Read(index_, source_, all_).hashes;
  ASSERT_EQ(sequential.size(), all_.size());
  std::mt19937 random(7);
  for (const int threads : {1, 2, 4}) {
    std::vector<int64_t> some(12);
    for (int64_t& frame : some) frame = static_cast<int64_t>(random() % kBFramesClipFrames);
    for (const auto& [frame, hash] : Read(index_, source_, some, threads).hashes) {
      EXPECT_EQ(hash, sequential.at(frame)) << "frame " << frame << ", " << threads << " threads";
    }
  }
}

TEST_F(VideoReaderTest, ThreadsDoNotChangeAnything) {
  const auto one = Read(index_, source_, all_, 1).hashes;
  EXPECT_EQ(Read(index_, source_, all_, 2).hashes, one);
  EXPECT_EQ(Read(index_, source_, all_, 5).hashes, one);
}

TEST_F(VideoReaderTest, WithoutAnotherThreadThisOneDecodesAll) {
  const auto one = Read(index_, source_, all_, 1).hashes;
  no_more_threads = true;
  const auto alone = Read(index_, source_, all_, 4).hashes;
  no_more_threads = false;
  EXPECT_EQ(alone, one);
}

TEST_F(VideoReaderTest, DamageReachesOnlyWhatRefersToIt) {
  // A packet that nothing refers to, and one that the rest of its GOP does.
  int droppable = -1, reference = -1;
  for (int i = 24; i < kBFramesClipFrames; ++i) {
    const PacketEntry& packet = index_.packets()[i];
    if (packet.droppable && droppable < 0) droppable = i;
    if (!packet.droppable && !packet.random_access && reference < 0) reference = i;
  }
  ASSERT_GE(droppable, 0);
  ASSERT_GE(reference, 0);
  const auto good = Read(index_, source_, all_).hashes;
  for (const int target : {droppable, reference}) {
    const PacketEntry& entry = index_.packets()[target];
    std::string broken = bytes_;
    BreakSlices(&broken, entry);
    const MemorySource source(broken);
    for (const int threads : {1, 3}) {
      const Result result = Read(index_, source, all_, threads);
      EXPECT_EQ(result.damaged.count(entry.frame), 1u);
      if (target == droppable) EXPECT_EQ(result.damaged.size(), 1u);
      if (target == reference) EXPECT_GT(result.damaged.size(), 1u);
      for (const auto& [frame, hash] : result.hashes) {
        if (result.damaged.count(frame) == 0) EXPECT_EQ(hash, good.at(frame)) << frame;
      }
    }
    // Whatever is asked together with it, a frame is damaged or it is not.
    const Result whole = Read(index_, source, all_);
    for (const int64_t frame : {entry.frame - 3, entry.frame, entry.frame + 3}) {
      EXPECT_EQ(Read(index_, source, {frame}).damaged.size(),
                whole.damaged.count(static_cast<int>(frame)))
          << "frame " << frame;
    }
  }
}

class Av1ReaderTest : public ::testing::Test {
 protected:
  Av1ReaderTest()
      : bytes_(Av1Clip()),
        source_(bytes_),
        index_(FrameIndex::Build(source_, {}, nullptr).value()),
        all_(kAv1ClipFrames) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  // A size field that says more than there is.
  std::string WithBrokenPicture(const PacketEntry& packet, const CodedPicture& picture) const {
    std::string broken = bytes_;
    char* size = &broken[static_cast<size_t>(packet.offset + picture.begin + 1)];
    while ((*size & 0x80) != 0) ++size;
    *size = 0x7F;
    return broken;
  }

  std::string bytes_;
  MemorySource source_;
  FrameIndex index_;
  std::vector<int64_t> all_;
};

TEST_F(Av1ReaderTest, AnyFramesEqualTheSequentialOnes) {
  // The reference sends whole packets, all of them.
  auto decoder = OpenSoftwareDecoder(*index_.stream().codec, index_.stream().time_base, {}).value();
  HashSink sequential;
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr picture(av_frame_alloc());
  for (int i = 0; i <= static_cast<int>(index_.packets().size()); ++i) {
    const bool last = i == static_cast<int>(index_.packets().size());
    if (!last) ASSERT_TRUE(index_.ReadPacket(source_, i, packet.get()).ok());
    ASSERT_TRUE(decoder->Send(last ? nullptr : packet.get()).ok());
    while (decoder->Receive(picture.get()).value()) {
      const auto from = static_cast<size_t>(picture->pkt_pos);
      ASSERT_TRUE(sequential.Write(0, index_.packets()[from].frame, *picture).ok());
    }
  }
  ASSERT_EQ(sequential.hashes.size(), all_.size());
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(Read(index_, source_, all_, threads).hashes, sequential.hashes);
  }
  std::mt19937 random(7);
  for (int64_t frame = 0; frame < kAv1ClipFrames; ++frame) {
    const std::vector<int64_t> some = {frame, static_cast<int64_t>(random() % kAv1ClipFrames)};
    for (const auto& wanted : {std::vector<int64_t>{frame}, some}) {
      const Result result = Read(index_, source_, wanted, 1 + static_cast<int>(random() % 3));
      EXPECT_TRUE(result.damaged.empty());
      EXPECT_EQ(result.hashes.count(static_cast<int>(frame)), 1u);
      for (const auto& [shown, hash] : result.hashes) {
        EXPECT_EQ(hash, sequential.hashes.at(shown)) << "frame " << shown;
      }
    }
  }
}

TEST_F(Av1ReaderTest, DamageReachesOnlyWhatRefersToItWhateverIsAsked) {
  const auto good = Read(index_, source_, all_).hashes;
  for (const int target : {1, 17}) {  // hold pictures for later ones
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(target)];
    ASSERT_EQ(entry.num_pictures, 5);
    for (const int which : {0, 2, 3, 4}) {
      const auto number = static_cast<size_t>(entry.first_picture + which);
      const std::string broken = WithBrokenPicture(entry, index_.pictures()[number]);
      const MemorySource source(broken);
      const Result whole = Read(index_, source, all_);
      EXPECT_EQ(whole.damaged.count(entry.frame), 1u) << "its layers rest on each other";
      EXPECT_LT(whole.damaged.size(), which == 3 ? 6u : 40u);
      EXPECT_EQ(Read(index_, source, all_, 3).damaged.size(), whole.damaged.size());
      for (const int64_t frame : all_) {
        const int shown = static_cast<int>(frame);
        const Result alone = Read(index_, source, {frame});
        EXPECT_EQ(alone.damaged.size(), whole.damaged.count(shown))
            << "frame " << frame << " with picture " << which << " of packet " << target
            << " broken" << (whole.damaged.count(shown) ? whole.damaged.at(shown).message() : "");
        if (whole.damaged.count(shown) != 0) continue;
        EXPECT_EQ(whole.hashes.at(shown), good.at(shown)) << "frame " << frame;
        EXPECT_EQ(alone.hashes.at(shown), good.at(shown)) << "frame " << frame;
      }
    }
  }
}

TEST_F(VideoReaderTest, DamageNamesThePacket) {
  const PacketEntry& entry = index_.packets()[0];
  std::string broken = bytes_;
  BreakSlices(&broken, entry);
  const MemorySource source(broken);
  const Result result = Read(index_, source, {0});
  ASSERT_EQ(result.damaged.size(), 1u);
  EXPECT_THAT(result.damaged.at(0).message(), HasSubstr("packet 0 at byte"));
}

TEST_F(VideoReaderTest, TimesThatNoDecoderCouldReorder) {
  // 23 frames shown last to first but for the first, then the others.
  const size_t table = bytes_.find("ctts") + 8;
  const auto put = [&](size_t at, int value) {
    for (size_t i = 0; i < 4; ++i) bytes_[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  constexpr int kEntries = 24, kTicks = 512;
  ASSERT_EQ(bytes_[table + 3], kEntries);
  for (int i = 0; i < kEntries; ++i) {
    const bool last = i + 1 == kEntries;
    const int frames_late = last ? 1000 : i == 0 ? 0 : 500 - 2 * i;
    put(table + 4 + 8 * i, last ? kBFramesClipFrames - i : 1);
    put(table + 8 + 8 * i, frames_late * kTicks);
  }
  bytes_.replace(bytes_.find("edts"), 4, "free");
  const MemorySource source(bytes_);
  const FrameIndex index = FrameIndex::Build(source, {}, nullptr).value();
  ASSERT_EQ(index.num_frames(), kBFramesClipFrames);
  EXPECT_EQ(index.reorder_depth(), FrameIndex::kMaxReorderDepth);
  EXPECT_EQ(Read(index, source, all_).hashes.size(), all_.size());
}

TEST_F(VideoReaderTest, ADecoderThatDoesNotOpenIsTheReadsError) {
  // The same stream, said to be of a codec whose decoder refuses its headers.
  const FrameIndex index = FrameIndex::Build(source_, {}, nullptr).value();
  index.stream().codec->codec_id = AV_CODEC_ID_FFV1;
  for (const int threads : {1, 3}) {
    HashSink sink;
    DamagedFrames damaged;
    ReadOptions options;
    options.num_threads = threads;
    const absl::Status status = ReadFrames(index, source_, all_, options, &sink, &damaged);
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(sink.hashes.empty());
  }
}

TEST_F(VideoReaderTest, CancelStopsIt) {
  HashSink sink;
  DamagedFrames damaged;
  ReadOptions options;
  std::atomic<int> polls{0};
  options.cancelled = [&] { return ++polls > 10; };
  EXPECT_TRUE(absl::IsCancelled(ReadFrames(index_, source_, all_, options, &sink, &damaged)));
  EXPECT_LT(sink.hashes.size(), 40u);
}

TEST_F(VideoReaderTest, ASinksErrorEndsTheRead) {
  class Failing : public HashSink {
    absl::Status Write(int, int frame, const AVFrame&) override {
      return frame == 7 ? absl::AbortedError("full") : absl::OkStatus();
    }
  } sink;
  DamagedFrames damaged;
  ReadOptions options;
  options.num_threads = 2;
  EXPECT_TRUE(absl::IsAborted(ReadFrames(index_, source_, all_, options, &sink, &damaged)));
}

// Another decoder, which may find faults of its own.
class OtherDecoderTest : public VideoReaderTest {
 protected:
  class Wrapped : public Decoder {
   public:
    Wrapped(OtherDecoderTest* test, std::unique_ptr<Decoder> decoder)
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
      if (test_->open_ > test_->most_that_fit_) return absl::ResourceExhaustedError("full");
      return decoder_->Send(packet);
    }
    absl::StatusOr<bool> Receive(AVFrame* frame) override {
      if (lost_) return test_->fault_;
      return decoder_->Receive(frame);
    }
    bool TakeErrors() override { return decoder_->TakeErrors(); }
    void Reset() override { decoder_->Reset(); }

   private:
    OtherDecoderTest* const test_;
    bool lost_ = false;
    std::unique_ptr<Decoder> decoder_;
  };

  // Of which workers the last write may not have arrived.
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

  absl::Status Read(int max_workers, Result* result, DecoderShare* share = nullptr) {
    LeavingSink sink;
    ReadOptions options;
    options.other.open =
        [this](const AVCodecParameters& codec, AVRational time_base,
               const DecoderOptions& options) -> absl::StatusOr<std::unique_ptr<Decoder>> {
      EXPECT_EQ(options.num_threads, 1);
      ++opened_;
      auto decoder = OpenSoftwareDecoder(codec, time_base, options);
      if (!decoder.ok()) return decoder.status();
      return std::make_unique<Wrapped>(this, std::move(decoder).value());
    };
    options.other.max_workers = max_workers;
    options.other.share = share;
    options.other.before_decoding_again = [this](const DamagedFrames& damaged) {
      ++asked_;
      EXPECT_FALSE(damaged.empty());
      for (const auto& [frame, status] : damaged) said_.push_back(status);
      return answer_;
    };
    const absl::Status status = ReadFrames(index_, source_, all_, options, &sink, &result->damaged);
    result->hashes = std::move(sink.hashes);
    return status;
  }

  std::mutex mutex_;
  std::atomic<int> open_{0}, opened_{0}, asked_{0};
  int most_open_ = 0;
  int most_that_fit_ = 1000;
  int64_t fault_at_ = -1;
  absl::Status fault_ = absl::DataLossError("a fault");
  bool fault_is_lasting_ = false;
  std::vector<absl::Status> said_;  // of damaged frames, to before_decoding_again
  absl::Status answer_;
};

TEST_F(OtherDecoderTest, ItsWorkersShareTheSegments) {
  const auto wanted = nvc::Read(index_, source_, all_).hashes;
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

// Two turns, each for one segment.
class ShortTurns : public DecoderShare {
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

TEST_F(OtherDecoderTest, ItsWorkersTakeTurns) {
  const auto wanted = nvc::Read(index_, source_, all_).hashes;
  ShortTurns turns;
  turns.open = &open_;
  Result result;
  ASSERT_TRUE(Read(3, &result, &turns).ok());
  EXPECT_EQ(result.hashes, wanted);
  EXPECT_LE(most_open_, 2);
  EXPECT_GE(turns.taken, opened_);
  EXPECT_GE(opened_, 3) << "one for each segment";
}

TEST_F(OtherDecoderTest, WhoWaitsForATurnLeavesWithAReadThatFails) {
  fault_at_ = 3;
  fault_ = absl::InternalError("the GPU is gone");
  ShortTurns turns;
  turns.open = &open_;
  Result result;
  EXPECT_EQ(Read(8, &result, &turns), fault_);
}

TEST_F(OtherDecoderTest, AFewPicturesAreNotWorthManyDecoders) {
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

TEST_F(OtherDecoderTest, FewerWorkWhereThereIsNoMemoryForMore) {
  const auto wanted = nvc::Read(index_, source_, all_).hashes;
  for (int i = 0; i < 20; ++i) {
    most_that_fit_ = 1 + i % 2;
    Result result;
    const absl::Status status = Read(3, &result);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(result.hashes, wanted);
    EXPECT_TRUE(result.damaged.empty());
    EXPECT_EQ(open_, 0);
  }
  most_that_fit_ = 0;
  Result result;
  EXPECT_TRUE(absl::IsResourceExhausted(Read(3, &result)));
}

TEST_F(OtherDecoderTest, ASoftwareDecoderHasTheLastWordOnWhatIsDamaged) {
  const auto wanted = nvc::Read(index_, source_, all_).hashes;
  fault_at_ = 3;
  Result result;
  ASSERT_TRUE(Read(1, &result).ok());
  EXPECT_EQ(result.hashes, wanted);
  EXPECT_TRUE(result.damaged.empty()) << "the fault is the other decoder's alone";
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(opened_, 2) << "the next segment is the other decoder's again, with a new one";
}

TEST_F(OtherDecoderTest, TheReadFailsWhereItMayNotDecodeAgain) {
  fault_at_ = 3;
  answer_ = absl::UnimplementedError("not here");
  Result result;
  EXPECT_EQ(Read(2, &result), answer_);
  EXPECT_EQ(open_, 0);
}

TEST_F(OtherDecoderTest, ARefusalIsToldThoughEarlierPicturesAreMissingToo) {
  fault_at_ = 1;  // before the decoder gives the first picture
  fault_ = absl::UnimplementedError("not such pictures");
  fault_is_lasting_ = true;
  Result result;
  ASSERT_TRUE(Read(1, &result).ok());
  EXPECT_GT(std::count_if(said_.begin(), said_.end(), absl::IsUnimplemented), 1);
  EXPECT_TRUE(absl::IsDataLoss(said_[0])) << "the key frame's is that it is missing";
}

TEST_F(OtherDecoderTest, ABrokenDecoderIsNotTheStreamsFault) {
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
