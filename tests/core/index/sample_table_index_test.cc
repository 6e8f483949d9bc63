// Tests that an index made from the sample table alone, without the packets, has the same frames.

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/decoded_hashes.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

namespace nvc {
namespace {

FrameIndex::Limits BelieveTable() {
  FrameIndex::Limits limits;
  limits.believe_sample_table = true;
  return limits;
}

TEST(SampleTableIndexTest, EveryKindOfFileHasTheSameFrames) {
  int believed = 0;
  for (const std::string& path : GoldenClips()) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    const MemorySource source(bytes);
    const auto full = FrameIndex::Build(source, {}, nullptr);
    const auto table = FrameIndex::Build(source, BelieveTable(), nullptr);
    if (!full.ok() || !table.ok()) {
      EXPECT_EQ(full.status(), table.status());
      continue;
    }
    EXPECT_FALSE(full->only_sample_table());
    if (!table->only_sample_table()) continue;
    ++believed;
    std::set<int> damaged_full, damaged_table;
    const auto expected = Decode(*full, bytes, &damaged_full);
    const auto got = Decode(*table, bytes, &damaged_table);
    // A reader builds the full index after all if a frame is damaged, or if CheckSyncSamples finds
    // that decoding may not start at a packet, such as one that holds a field.
    if (!damaged_table.empty()) continue;
    std::vector<int64_t> all(static_cast<size_t>(table->num_frames()));
    std::iota(all.begin(), all.end(), int64_t{0});
    const absl::Status starts = CheckSyncSamples(*table, source, all);
    if (path.find("paff") != std::string::npos) {
      EXPECT_TRUE(absl::IsAborted(starts)) << starts;
      continue;
    }
    EXPECT_TRUE(starts.ok()) << starts;
    EXPECT_TRUE(damaged_full.empty());
    ASSERT_EQ(full->num_frames(), table->num_frames());
    for (size_t i = 0; i < full->frames().size(); ++i) {
      EXPECT_EQ(full->frames()[i].pts, table->frames()[i].pts) << i;
      EXPECT_EQ(full->frames()[i].duration, table->frames()[i].duration) << i;
    }
    EXPECT_EQ(full->frame_rate(), table->frame_rate());
    EXPECT_EQ(expected, got);
  }
  EXPECT_GE(believed, 1);
  RecordProperty("believed", believed);
}

TEST(SampleTableIndexTest, DetectsFalseSyncSamples) {
  std::string bytes = RealClip();
  const size_t table = bytes.find("stss");
  ASSERT_NE(table, std::string::npos);
  bytes.replace(table, 4, "free");  // without this table every sample counts as a sync sample
  const MemorySource source(bytes);
  const auto index = FrameIndex::Build(source, BelieveTable(), nullptr);
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_TRUE(index->only_sample_table());
  EXPECT_TRUE(CheckSyncSamples(*index, source, {0}).ok());
  EXPECT_TRUE(absl::IsAborted(CheckSyncSamples(*index, source, {0, 5})));
}

TEST(SampleTableIndexTest, TheCacheKeepsTheMark) {
  const MemorySource source(RealClip());
  const auto table = FrameIndex::Build(source, BelieveTable(), nullptr);
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_TRUE(table->only_sample_table());
  const auto parsed = ParseFrameIndex(SerializeFrameIndex(*table).value());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->only_sample_table());
}

TEST(SampleTableIndexTest, OtherContainersAreReadInFull) {
  // Files other than MP4 and MOV, such as transport streams, have no sample table.
  for (const std::string& path : GoldenClips()) {
    const std::string type = std::filesystem::path(path).extension();
    if (type == ".mp4" || type == ".mov") continue;
    const std::string bytes = ReadFile(path);
    const MemorySource source(bytes);
    const auto index = FrameIndex::Build(source, BelieveTable(), nullptr);
    if (index.ok()) EXPECT_FALSE(index->only_sample_table()) << path;
  }
}

}  // namespace
}  // namespace nvc
