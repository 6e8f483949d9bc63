#include "tf_nvcodec/core/index/frame_index_io.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/index/index_of.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/index_checks.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

bool KeepsPackets(const FrameIndex& index) {
  return std::any_of(index.packets().begin(), index.packets().end(),
                     [](const PacketEntry& packet) { return packet.kept != nullptr; });
}

TEST(FrameIndexIoTest, EveryKindOfFileSurvivesARoundTrip) {
  int written = 0, kept = 0;
  for (const std::string& path : GoldenClips()) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    const MemorySource source(bytes);
    const auto index = FrameIndex::Build(source, {}, nullptr);
    if (!index.ok()) continue;  // a file without video
    const auto stored = SerializeFrameIndex(*index);
    if (KeepsPackets(*index)) {
      EXPECT_TRUE(absl::IsFailedPrecondition(stored.status())) << stored.status();
      ++kept;
      continue;
    }
    ASSERT_TRUE(stored.ok()) << stored.status();
    const auto parsed = ParseFrameIndex(*stored);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ExpectSameIndex(*index, *parsed);
    EXPECT_EQ(SerializeFrameIndex(*parsed).value(), *stored);
    std::set<int> damaged, damaged_as_parsed;
    EXPECT_EQ(Decode(*index, bytes, &damaged), Decode(*parsed, bytes, &damaged_as_parsed));
    EXPECT_EQ(damaged, damaged_as_parsed);
    ++written;
  }
  EXPECT_GE(written, 2);
  RecordProperty("written", written);
  RecordProperty("kept", kept);
}

TEST(FrameIndexIoTest, IsSmall) {
  const FrameIndex index = IndexOf(RealClip());
  const size_t extradata = static_cast<size_t>(index.stream().codec->extradata_size);
  const std::string stored = SerializeFrameIndex(index).value();
  EXPECT_LT(stored.size(), 100 + extradata + 12 * index.packets().size());
  EXPECT_GT(MemoryBytes(index), index.packets().size() * sizeof(PacketEntry));
}

TEST(FrameIndexIoTest, KeptPacketsCountAsMemory) {
  // MPEG-TS cuts frames into packets of 188 bytes. FFmpeg joins them, so the index must keep the
  // joined bytes.
  for (const std::string& path : GoldenClips()) {
    if (path.find("/h264.ts") == std::string::npos) continue;
    const std::string bytes = ReadFile(path);
    const FrameIndex index = IndexOf(bytes);
    ASSERT_TRUE(KeepsPackets(index));
    EXPECT_GT(MemoryBytes(index), bytes.size() / 2);
    EXPECT_THAT(SerializeFrameIndex(index).status().message(), HasSubstr("mpegts"));
  }
}

// Parses `stored`, which may be damaged. It must give DataLoss or an index that is safe to use.
void Use(absl::string_view stored) {
  const auto index = ParseFrameIndex(stored);
  if (!index.ok()) {
    EXPECT_TRUE(absl::IsDataLoss(index.status())) << index.status();
    return;
  }
  ASSERT_GT(index->num_frames(), 0);
  for (const FrameEntry& frame : index->frames()) {
    ASSERT_LT(static_cast<size_t>(frame.packet), index->packets().size());
    ASSERT_LE(frame.start_packet, frame.packet);
    ASSERT_GE(frame.start_packet, 0);
  }
  for (const PacketEntry& packet : index->packets()) {
    ASSERT_LT(packet.frame, index->num_frames());
    ASSERT_LE(static_cast<size_t>(packet.first_picture + packet.num_pictures),
              index->pictures().size());
    ASSERT_GE(packet.offset, 0);
    ASSERT_GE(packet.size, 0);
  }
  index->FrameAt(1).IgnoreError();
  std::vector<int64_t> all(static_cast<size_t>(index->num_frames()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  PlanSegments(*index, all);
}

TEST(FrameIndexIoTest, DamagedBytesAtEveryPlace) {
  std::vector<std::string> clips = {BFramesClip()};
  for (const std::string& path : GoldenClips()) {
    if (path.find("/av1.mp4") != std::string::npos) clips.push_back(ReadFile(path));
  }
  for (const std::string& clip : clips) {
    std::string stored = SerializeFrameIndex(IndexOf(clip)).value();
    for (size_t i = 0; i < stored.size(); ++i) Use(absl::string_view(stored).substr(0, i));
    for (size_t i = 0; i < stored.size(); ++i) {
      for (const int bits : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
        stored[i] ^= static_cast<char>(bits);
        Use(stored);
        stored[i] ^= static_cast<char>(bits);
      }
    }
    Use(stored + "x");
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
      std::string changed = stored;
      for (int changes = 1 + static_cast<int>(random() % 8); changes > 0; --changes) {
        changed[random() % changed.size()] = static_cast<char>(random());
      }
      Use(changed);
    }
    EXPECT_TRUE(ParseFrameIndex(stored).ok());
  }
}

TEST(FrameIndexIoTest, RandomBytesAreSafe) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes(random() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    Use(bytes);
  }
}

}  // namespace
}  // namespace nvc
