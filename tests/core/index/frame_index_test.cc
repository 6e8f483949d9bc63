#include "tf_nvcodec/core/index/frame_index.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/index/index_of.h"
#include "tests/core/testing/golden_corpus.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

TEST(FrameIndexTest, CountsAndTimesEveryFrame) {
  const FrameIndex index = IndexOf(BFramesClip());
  ASSERT_EQ(index.num_frames(), kBFramesClipFrames);
  for (int i = 0; i < kBFramesClipFrames; ++i) {
    EXPECT_NEAR(index.frames()[i].pts, i / 25.0, 1e-9);
    EXPECT_NEAR(index.frames()[i].duration, 1 / 25.0, 1e-9);
  }
  EXPECT_DOUBLE_EQ(index.frame_rate(), 25);
  EXPECT_NEAR(index.duration(), kBFramesClipFrames / 25.0, 1e-9);
  EXPECT_EQ(index.damage(), "");
}

TEST(FrameIndexTest, FramesAndPacketsNameEachOther) {
  const FrameIndex index = IndexOf(BFramesClip());
  for (int i = 0; i < kBFramesClipFrames; ++i) {
    const FrameEntry& frame = index.frames()[i];
    EXPECT_EQ(index.packets()[frame.packet].frame, i);
    EXPECT_LE(frame.start_packet, frame.packet);
    EXPECT_TRUE(index.packets()[frame.start_packet].random_access);
  }
  EXPECT_GT(index.reorder_depth(), 0);
}

TEST(FrameIndexTest, ReadsPacketsBackFromTheSource) {
  const FrameIndex index = IndexOf(BFramesClip());
  const MemorySource source(BFramesClip());
  AvPacketPtr packet(av_packet_alloc());
  for (const int i : {0, 5, kBFramesClipFrames - 1}) {
    ASSERT_TRUE(index.ReadPacket(source, i, packet.get()).ok());
    const PacketEntry& entry = index.packets()[i];
    EXPECT_EQ(packet->pos, i);
    EXPECT_EQ(packet->pts, entry.pts);
    ASSERT_GE(entry.offset, 0) << "mp4 keeps packets in one piece";
    EXPECT_EQ(absl::string_view(reinterpret_cast<char*>(packet->data), packet->size),
              absl::string_view(BFramesClip()).substr(entry.offset, entry.size));
  }
}

TEST(FrameIndexTest, ASourceThatShrankIsDataLoss) {
  const FrameIndex index = IndexOf(BFramesClip());
  const MemorySource shorter(absl::string_view(BFramesClip()).substr(0, 100));
  AvPacketPtr packet(av_packet_alloc());
  EXPECT_TRUE(absl::IsDataLoss(index.ReadPacket(shorter, 50, packet.get())));
}

TEST(FrameIndexTest, FrameAtIsTheOneOnScreen) {
  const FrameIndex index = IndexOf(BFramesClip());
  EXPECT_EQ(*index.FrameAt(0), 0);
  EXPECT_EQ(*index.FrameAt(0.0399), 0);
  EXPECT_EQ(*index.FrameAt(index.frames()[7].pts), 7);
  EXPECT_EQ(*index.FrameAt(index.duration() - 1e-6), kBFramesClipFrames - 1);
  EXPECT_EQ(*index.FrameAt(index.duration() - 1e-6, 1e-5), kBFramesClipFrames - 1);
  EXPECT_EQ(*index.FrameAt(-1e-6, 1e-5), 0);
  EXPECT_EQ(*index.FrameAt(index.frames()[7].pts - 1e-6, 1e-5), 7);
  EXPECT_EQ(*index.FrameAt(index.frames()[7].pts - 1e-4, 1e-5), 6);
  for (const double outside :
       {-0.001, index.duration(), 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(index.FrameAt(outside).status())) << outside;
  }
}

TEST(FrameIndexTest, Limits) {
  const MemorySource source(BFramesClip());
  FrameIndex::Limits limits;
  limits.max_frames = kBFramesClipFrames - 1;
  const auto index = FrameIndex::Build(source, limits, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(index.status()));
  EXPECT_THAT(index.status().message(), HasSubstr("60 frames"));
  limits.max_frames = limits.max_packets = kBFramesClipFrames;
  EXPECT_TRUE(FrameIndex::Build(source, limits, nullptr).ok());
  limits.max_packets = kBFramesClipFrames - 1;
  const auto more = FrameIndex::Build(source, limits, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(more.status())) << more.status();
  EXPECT_THAT(more.status().message(), HasSubstr("max_packets"));
}

// A second description begins another sequence of pictures. That is no reason to decode the stream.
TEST(FrameIndexTest, TheOrderOfPicturesGoesOnBehindANewDescription) {
  for (const std::string& path : GoldenClips()) {
    if (path.find("_two_descriptions") == std::string::npos) continue;
    const FrameIndex index = IndexOf(ReadFile(path));
    const int last = static_cast<int>(index.packets().size()) - 1;
    EXPECT_NE(&index.CodecAt(0), &index.CodecAt(last)) << path;
    constexpr int kNotDecoded = -1;
    EXPECT_EQ(index.stream().codec->format, kNotDecoded) << path;
  }
}

// Whenever the work is cancelled, the error says so, and never that the file is damaged or short.
TEST(FrameIndexTest, CancelledAtAnyMoment) {
  const MemorySource source(BFramesClip());
  constexpr int kMostPolls = 10 * kBFramesClipFrames;
  int most = 0;
  for (bool ended = false; !ended; ++most) {
    ASSERT_LT(most, kMostPolls);
    int polls = 0;
    bool over = false;
    const auto index = FrameIndex::Build(source, {}, [&] { return over = ++polls > most; });
    ended = !over;
    EXPECT_EQ(index.ok(), ended) << most << ": " << index.status();
    EXPECT_EQ(absl::IsCancelled(index.status()), over) << most << ": " << index.status();
  }
  EXPECT_GT(most, kBFramesClipFrames);
}

}  // namespace
}  // namespace nvc
