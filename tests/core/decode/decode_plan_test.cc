#include "tf_nvcodec/core/decode/decode_plan.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {
namespace {

class DecodePlanTest : public ::testing::Test {
 protected:
  DecodePlanTest()
      : source_(BFramesClip()), index_(FrameIndex::Build(source_, {}, nullptr).value()) {}

  int Sent(const Segment& segment) const {
    int sent = 0;
    for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
      sent += IsNeeded(index_, segment, i);
    }
    return sent;
  }

  MemorySource source_;
  FrameIndex index_;
};

TEST_F(DecodePlanTest, AWholeDecodeSendsEveryPacketOnce) {
  std::vector<int64_t> all(kBFramesClipFrames);
  std::iota(all.begin(), all.end(), 0);
  int frames = 0, sent = 0;
  for (const Segment& segment : PlanSegments(index_, all)) {
    frames += static_cast<int>(segment.frames.size());
    sent += Sent(segment);
    EXPECT_EQ(segment.cost, Sent(segment));
  }
  EXPECT_EQ(frames, kBFramesClipFrames);
  EXPECT_EQ(sent, kBFramesClipFrames);
}

TEST_F(DecodePlanTest, DuplicatesAndOrderDoNotMatter) {
  const auto once = PlanSegments(index_, {3, 9});
  const auto often = PlanSegments(index_, {9, 3, 9, 9, 3});
  ASSERT_EQ(once.size(), often.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].frames, often[i].frames);
}

TEST_F(DecodePlanTest, LeavesOutWhatNobodyNeeds) {
  const auto segments = PlanSegments(index_, {55});
  ASSERT_EQ(segments.size(), 1u);
  const Segment& segment = segments[0];
  EXPECT_EQ(segment.frames, std::vector<int>{55});
  EXPECT_EQ(segment.last_packet, index_.frames()[55].packet);
  EXPECT_LT(segment.cost, segment.last_packet - segment.first_packet + 1);
  EXPECT_TRUE(IsNeeded(index_, segment, segment.first_packet));
  EXPECT_TRUE(IsNeeded(index_, segment, segment.last_packet));
}

TEST_F(DecodePlanTest, NothingAskedNothingPlanned) {
  EXPECT_TRUE(PlanSegments(index_, {}).empty());
}

class Av1PlanTest : public ::testing::Test {
 protected:
  Av1PlanTest() : source_(Av1Clip()), index_(FrameIndex::Build(source_, {}, nullptr).value()) {}

  const CodedPicture& Picture(int i) const { return index_.pictures()[static_cast<size_t>(i)]; }
  const PacketEntry& Packet(int i) const { return index_.packets()[static_cast<size_t>(i)]; }

  // Returns the pictures that `segment` sends to the decoder. Checks that each is sent as whole
  // OBUs and after the pictures that it refers to.
  std::vector<int> Sent(const Segment& segment) const {
    std::vector<int> sent;
    for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
      if (!IsNeeded(index_, segment, i)) continue;
      for (const PacketPart& part : PartsToSend(index_, segment, i)) {
        EXPECT_LT(part.begin, part.end);
        EXPECT_LE(part.end, Packet(i).size);
        if (part.picture < 0) continue;
        EXPECT_EQ(part.end, Picture(part.picture).end);
        for (const int reference : Picture(part.picture).references) {
          EXPECT_TRUE(reference < 0 || std::count(sent.begin(), sent.end(), reference) == 1)
              << "picture " << part.picture << " needs " << reference;
        }
        sent.push_back(part.picture);
      }
    }
    EXPECT_EQ(segment.cost, static_cast<int>(sent.size()));
    return sent;
  }

  MemorySource source_;
  FrameIndex index_;
};

TEST_F(Av1PlanTest, SendsWhatAFrameRefersToAndNoMore) {
  // Each GOP is a key frame followed by pyramids of 16 frames. The top of a pyramid is coded first,
  // then the frame halfway to it, and so on down.
  const auto cost = [this](const std::vector<int64_t>& frames) {
    const auto segments = PlanSegments(index_, frames);
    EXPECT_EQ(segments.size(), 1u);
    return Sent(segments[0]).size();
  };
  EXPECT_EQ(cost({0}), 1u);
  EXPECT_EQ(cost({40}), 1u);
  EXPECT_EQ(cost({16}), 3u);  // the key frame, the top, and the packet that shows the top
  EXPECT_EQ(cost({8}), 4u);
  EXPECT_EQ(cost({1}), 6u);  // the key frame and one picture of each of the five layers
  EXPECT_LT(cost({31}), 12u);
  EXPECT_LT(cost({20, 21, 22, 23}), 16u);
}

TEST_F(Av1PlanTest, AWholeGopLeavesOutNothingShown) {
  std::vector<int64_t> gop(40);
  std::iota(gop.begin(), gop.end(), 0);
  const auto segments = PlanSegments(index_, gop);
  ASSERT_EQ(segments.size(), 1u);
  const auto sent = Sent(segments[0]);
  const auto shown =
      std::count_if(sent.begin(), sent.end(), [&](int picture) { return Picture(picture).shown; });
  EXPECT_EQ(shown, 40);
}

TEST_F(Av1PlanTest, DamageReachesWhatRefersToIt) {
  const auto segments = PlanSegments(index_, {1, 2, 3, 5});
  ASSERT_EQ(segments.size(), 1u);
  // Packet 1 holds the pictures of frames 16, 8, 4 and 2, which later packets show, and frame 1.
  const PacketEntry& tops = Packet(1);
  ASSERT_EQ(tops.num_pictures, 5);
  const auto depends = [&](int frame, int picture) {
    return DependsOn(index_, segments[0], frame, 1, picture);
  };
  const int for_frame_2 = tops.first_picture + 3;
  EXPECT_TRUE(depends(1, for_frame_2));
  EXPECT_TRUE(depends(2, for_frame_2));
  EXPECT_FALSE(depends(5, for_frame_2));
  EXPECT_TRUE(depends(5, tops.first_picture));
  EXPECT_TRUE(depends(5, -1)) << "the whole packet";
  EXPECT_FALSE(depends(2, for_frame_2 + 1)) << "frame 1 itself";
  EXPECT_FALSE(depends(0, -1)) << "comes before it";
}

TEST_F(Av1PlanTest, NearADamagedPacketNoHeaderIsBelieved) {
  std::string bytes = Av1Clip();
  constexpr int kDamaged = 21;
  bytes[static_cast<size_t>(Packet(kDamaged).offset)] = '\0';  // the first OBU becomes invalid
  const MemorySource source(bytes);
  const FrameIndex index = FrameIndex::Build(source, {}, nullptr).value();
  ASSERT_EQ(index.packets()[kDamaged].num_pictures, 1);
  for (const int64_t frame : {8, 30}) {
    const Segment segment = PlanSegments(index, {frame}).at(0);
    for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
      const PacketEntry& packet = index.packets()[static_cast<size_t>(i)];
      if (!IsNeeded(index, segment, i)) {
        EXPECT_TRUE(packet.droppable) << "packet " << i;
        continue;
      }
      const auto parts = PartsToSend(index, segment, i);
      ASSERT_EQ(parts.size(), 1u);
      EXPECT_EQ(parts[0].end - parts[0].begin, packet.size);
    }
    const int own = index.frames()[static_cast<size_t>(frame)].packet;
    EXPECT_TRUE(DependsOn(index, segment, static_cast<int>(frame), 1, -1));
    EXPECT_EQ(DependsOn(index, segment, static_cast<int>(frame), kDamaged, -1), own >= kDamaged);
  }
  EXPECT_EQ(PlanSegments(index, {40}).at(0).pictures.size(), 1u) << "the next GOP";
}

std::vector<Segment> OfCosts(const std::vector<int>& costs) {
  std::vector<Segment> segments(costs.size());
  for (size_t i = 0; i < costs.size(); ++i) segments[i].cost = costs[i];
  return segments;
}

TEST(PlanThreadsTest, ManySegmentsGoSideBySide) {
  const ThreadPlan plan = PlanThreads(OfCosts(std::vector<int>(14, 50)), 2);
  EXPECT_EQ(plan.workers, 2);
  EXPECT_EQ(plan.threads_per_decoder, 1);
}

TEST(PlanThreadsTest, OneSegmentGetsFrameThreads) {
  const ThreadPlan plan = PlanThreads(OfCosts({100}), 4);
  EXPECT_EQ(plan.workers, 1);
  EXPECT_EQ(plan.threads_per_decoder, 4 + kSpareThreads);
}

TEST(PlanThreadsTest, ASingleFrameNeedsNoSecondThread) {
  const ThreadPlan plan = PlanThreads(OfCosts({1}), 8);
  EXPECT_EQ(plan.workers, 1);
  EXPECT_EQ(plan.threads_per_decoder, 1);
}

TEST(PlanThreadsTest, OneThreadStaysOne) {
  for (const auto& costs : {std::vector<int>{}, {5}, {5, 5, 5}}) {
    const ThreadPlan plan = PlanThreads(OfCosts(costs), 1);
    EXPECT_EQ(plan.workers, 1);
    EXPECT_EQ(plan.threads_per_decoder, 1);
  }
}

}  // namespace
}  // namespace nvc
