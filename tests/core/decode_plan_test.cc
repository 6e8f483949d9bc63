#include "tf_nvcodec/core/decode_plan.h"

#include <numeric>

#include "gtest/gtest.h"
#include "tests/core/test_media.h"
#include "tf_nvcodec/core/byte_source.h"

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
  EXPECT_EQ(plan.threads_per_decoder, 5);
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
