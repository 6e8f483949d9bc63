#include "tf_nvcodec/core/decode/frame_stream.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/indexed_clip.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

namespace {

std::atomic<bool> no_more_threads{false};

}  // namespace

// Replaces the C library's function, so that a test can make starting a thread fail.
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

// Overwrites all of a packet after its first NAL unit's length and header with zeros, which are not
// a valid slice header. Damage further inside a slice often decodes without an error, because H.264
// has no checksum.
void BreakSlices(std::string* bytes, const PacketEntry& packet) {
  std::fill_n(bytes->begin() + packet.offset + 5, packet.size - 5, '\0');
}

class FrameStreamTest : public IndexedClipTest {
 protected:
  FrameStreamTest() : IndexedClipTest(BFramesClip(), kBFramesClipFrames) {}
};

TEST_F(FrameStreamTest, RandomFramesEqualTheSequentialOnes) {
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

TEST_F(FrameStreamTest, ThreadsDoNotChangeTheFrames) {
  const auto one = Read(index_, source_, all_, 1).hashes;
  EXPECT_EQ(Read(index_, source_, all_, 2).hashes, one);
  EXPECT_EQ(Read(index_, source_, all_, 5).hashes, one);
}

TEST_F(FrameStreamTest, DecodesAllWhenNoThreadCanStart) {
  const auto one = Read(index_, source_, all_, 1).hashes;
  no_more_threads = true;
  const auto alone = Read(index_, source_, all_, 4).hashes;
  no_more_threads = false;
  EXPECT_EQ(alone, one);
}

TEST_F(FrameStreamTest, DamageReachesOnlyDependentFrames) {
  // Finds a packet that no other refers to, and one that the rest of its GOP refers to.
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
    // Whether a frame is damaged does not depend on the other frames of the read.
    const Result whole = Read(index_, source, all_);
    for (const int64_t frame : {entry.frame - 3, entry.frame, entry.frame + 3}) {
      EXPECT_EQ(Read(index_, source, {frame}).damaged.size(),
                whole.damaged.count(static_cast<int>(frame)))
          << "frame " << frame;
    }
  }
}

class Av1ReaderTest : public IndexedClipTest {
 protected:
  Av1ReaderTest() : IndexedClipTest(Av1Clip(), kAv1ClipFrames) {}

  // Returns the clip with one picture whose OBU size field exceeds the data.
  std::string WithBrokenPicture(const PacketEntry& packet, const CodedPicture& picture) const {
    std::string broken = bytes_;
    char* size = &broken[static_cast<size_t>(packet.offset + picture.begin + 1)];
    while ((*size & 0x80) != 0) ++size;
    *size = 0x7F;
    return broken;
  }
};

TEST_F(Av1ReaderTest, AnyFramesEqualTheSequentialOnes) {
  // The reference decode sends every packet whole.
  auto decoder = OpenSoftwareDecoder(*index_.stream().codec, index_.stream().time_base, {}).value();
  HashSink sequential;
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr picture(av_frame_alloc());
  for (int i = 0; i <= static_cast<int>(index_.packets().size()); ++i) {
    const bool last = i == static_cast<int>(index_.packets().size());
    if (!last) ASSERT_TRUE(index_.ReadPacket(source_, i, packet.get()).ok());
    ASSERT_TRUE(decoder->Send(last ? nullptr : packet.get()).ok());
    while (decoder->Receive(picture.get()).value()) {
      const auto from = static_cast<size_t>(PacketPos(*picture));
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

TEST_F(Av1ReaderTest, DamageReachesTheSameFramesInEveryRead) {
  const auto good = Read(index_, source_, all_).hashes;
  for (const int target : {1, 17}) {  // packets that hold pictures for later packets
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

TEST_F(FrameStreamTest, DamageNamesThePacket) {
  const PacketEntry& entry = index_.packets()[0];
  std::string broken = bytes_;
  BreakSlices(&broken, entry);
  const MemorySource source(broken);
  const Result result = Read(index_, source, {0});
  ASSERT_EQ(result.damaged.size(), 1u);
  EXPECT_THAT(result.damaged.at(0).message(), HasSubstr("packet 0 at byte"));
}

TEST_F(FrameStreamTest, TimestampsBeyondTheReorderDepth) {
  // The first frame comes first. The next 22 are shown in reverse order, and the remaining ones
  // after them.
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
  EXPECT_LT(index.reorder_depth(), FrameIndex::kMaxReorderDepth);  // by the decoder
  EXPECT_EQ(Read(index, source, all_).hashes.size(), all_.size());
}

TEST_F(FrameStreamTest, ReportsADecoderThatDoesNotOpen) {
  // The index names another codec, whose decoder refuses the stream's headers.
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

TEST_F(FrameStreamTest, CancelStopsIt) {
  HashSink sink;
  DamagedFrames damaged;
  ReadOptions options;
  std::atomic<int> polls{0};
  options.cancelled = [&] { return ++polls > 10; };
  EXPECT_TRUE(absl::IsCancelled(ReadFrames(index_, source_, all_, options, &sink, &damaged)));
  EXPECT_LT(sink.hashes.size(), 40u);
}

TEST_F(FrameStreamTest, ASinksErrorEndsTheRead) {
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

}  // namespace
}  // namespace nvc
