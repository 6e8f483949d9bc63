#include "tf_nvcodec/core/index/frame_index_io.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/index/index_of.h"
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
  EXPECT_LT(stored.size(), 100 + extradata + 30 * index.packets().size());
  EXPECT_GT(index.MemoryBytes(), index.packets().size() * sizeof(PacketEntry));
}

TEST(FrameIndexIoTest, KeptPacketsCountAsMemory) {
  // MPEG-TS cuts frames into packets of 188 bytes. FFmpeg joins them, so the index must keep the
  // joined bytes.
  for (const std::string& path : GoldenClips()) {
    if (path.find("/h264.ts") == std::string::npos) continue;
    const std::string bytes = ReadFile(path);
    const FrameIndex index = IndexOf(bytes);
    ASSERT_TRUE(KeepsPackets(index));
    EXPECT_GT(index.MemoryBytes(), bytes.size() / 2);
    EXPECT_THAT(SerializeFrameIndex(index).status().message(), HasSubstr("mpegts"));
  }
}

TEST(FrameIndexIoTest, BytesThatEndEarlyOrLateAreRefused) {
  std::string stored = SerializeFrameIndex(IndexOf(BFramesClip())).value();
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_TRUE(absl::IsDataLoss(ParseFrameIndex(stored.substr(0, i)).status())) << i;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseFrameIndex(stored + "x").status()));
}

}  // namespace
}  // namespace nvc
