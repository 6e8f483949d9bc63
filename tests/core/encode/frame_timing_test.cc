#include "tf_nvcodec/core/encode/frame_timing.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Rate {
  double fps;
  int num, den;
};

class RationalRateTest : public ::testing::TestWithParam<Rate> {};

TEST_P(RationalRateTest, IsTheRateThatWasMeant) {
  const AVRational rate = RationalRate(GetParam().fps);
  EXPECT_EQ(rate.num, GetParam().num);
  EXPECT_EQ(rate.den, GetParam().den);
}

INSTANTIATE_TEST_SUITE_P(
    Rates, RationalRateTest,
    ::testing::Values(Rate{30, 30, 1}, Rate{25, 25, 1}, Rate{24, 24, 1}, Rate{29.97, 30000, 1001},
                      Rate{30000.0 / 1001, 30000, 1001}, Rate{23.976, 24000, 1001},
                      Rate{23.98, 1199, 50}, Rate{59.94, 60000, 1001}, Rate{119.88, 120000, 1001},
                      Rate{14.985, 15000, 1001}, Rate{47.952, 48000, 1001},
                      Rate{29.97002997f, 30000, 1001}, Rate{12.5, 25, 2}, Rate{0.1, 1, 10},
                      Rate{0.001, 1, 1000}, Rate{1.0 / 3, 1, 3}, Rate{7.25, 29, 4},
                      Rate{15.2f, 76, 5}, Rate{1000, 1000, 1}, Rate{100000, 100000, 1}));

TEST(FrameTimingTest, ConstantRateCountsFrames) {
  const auto timing = FrameTiming::FromFps(29.97);
  ASSERT_TRUE(timing.ok());
  EXPECT_TRUE(timing->constant());
  EXPECT_EQ(av_cmp_q(timing->time_base(), {1001, 30000}), 0);
  EXPECT_EQ(timing->Pts(7), 7);
  EXPECT_EQ(timing->DurationAt(7), 1);
}

TEST(FrameTimingTest, RefusesRatesThatAreNone) {
  for (const double fps : {0.0, -1.0, kNan, kInfinity, -kInfinity, 1e-4, 1e6}) {
    const auto timing = FrameTiming::FromFps(fps);
    EXPECT_EQ(timing.status().code(), absl::StatusCode::kInvalidArgument) << fps;
    EXPECT_THAT(std::string(timing.status().message()), HasSubstr("fps must be"));
  }
}

TEST(FrameTimingTest, EvenTimesAreAConstantRate) {
  std::vector<double> seconds;
  for (int i = 0; i < 3000; ++i) seconds.push_back((i + 60) * 1001 / 30000.0);
  const auto timing = FrameTiming::FromSeconds(seconds, 1, EncodeContainer::kMp4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_TRUE(timing->constant());
  EXPECT_EQ(av_cmp_q(timing->frame_rate(), {30000, 1001}), 0);
  EXPECT_EQ(timing->first(), 60);
  EXPECT_EQ(timing->Pts(10), 70);
}

TEST(FrameTimingTest, UnevenTimesAreExactWhereATimeScaleHasThem) {
  const std::vector<double> seconds = {0, 0.04, 0.12, 0.5, 1.0 / 3 + 1};
  const auto timing = FrameTiming::FromSeconds(seconds, 30, EncodeContainer::kMp4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_FALSE(timing->constant());
  for (size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_NEAR(timing->Pts(i) * av_q2d(timing->time_base()), seconds[i], 1e-12);
  }
  EXPECT_EQ(timing->DurationAt(timing->Pts(1)), timing->Pts(2) - timing->Pts(1));
  EXPECT_EQ(timing->DurationAt(timing->Pts(4)), timing->Pts(4) - timing->Pts(3));
}

TEST(FrameTimingTest, OtherTimesAreWithinAMicrosecond) {
  const std::vector<double> seconds = {0.1234567, 0.2, 0.31415926, 0.7182818};
  const auto timing = FrameTiming::FromSeconds(seconds, 30, EncodeContainer::kMp4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  for (size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_NEAR(timing->Pts(i) * av_q2d(timing->time_base()), seconds[i], 0.51e-6);
  }
}

TEST(FrameTimingTest, MatroskaCountsMilliseconds) {
  const std::vector<double> seconds = {0, 0.0104, 0.05};
  const auto timing = FrameTiming::FromSeconds(seconds, 30, EncodeContainer::kMkv);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(av_cmp_q(timing->time_base(), {1, 1000}), 0);
  EXPECT_EQ(timing->Pts(1), 10);
}

TEST(FrameTimingTest, OneFrameTakesItsLengthFromFps) {
  const auto timing = FrameTiming::FromSeconds({0.123456}, 4, EncodeContainer::kMp4);
  ASSERT_TRUE(timing.ok()) << timing.status();
  const int64_t duration = timing->DurationAt(timing->Pts(0));
  EXPECT_NEAR(duration * av_q2d(timing->time_base()), 0.25, 1e-6);
}

struct BadTimes {
  const char* what;
  std::vector<double> seconds;
  EncodeContainer container;
  const char* words;
};

TEST(FrameTimingTest, RefusesTimesAndSaysWhich) {
  const BadTimes all[] = {
      {"equal", {0, 1, 1}, EncodeContainer::kMp4, "pts[1] is 1 and pts[2] is 1"},
      {"falling", {0, 2, 1}, EncodeContainer::kMp4, "strictly increasing"},
      {"negative", {-1, 0}, EncodeContainer::kMp4, "pts[0] is -1 (subtract pts[0]"},
      {"NaN", {0, kNan, 1}, EncodeContainer::kMp4, "pts[1] is nan"},
      {"infinite", {0, kInfinity}, EncodeContainer::kMp4, "pts[1] is inf"},
      {"huge", {0, 1e10}, EncodeContainer::kMp4, "at most"},
      {"too close", {0, 0.0001, 1}, EncodeContainer::kMkv, "0.0001 fall into the same step"},
      {"closer than a microsecond", {0, 1e-8, 1}, EncodeContainer::kMp4, "the same step"},
      {"too far apart", {0, 1e-6, 1e6}, EncodeContainer::kMp4, "pts must be spaced"},
      {"uneven in AVI", {0, 0.1, 0.3}, EncodeContainer::kAvi, "stores no time stamps"},
      {"late in AVI", {1, 2, 3}, EncodeContainer::kAvi, "pts[0] is 1"},
  };
  for (const BadTimes& bad : all) {
    const auto timing = FrameTiming::FromSeconds(bad.seconds, 30, bad.container);
    EXPECT_EQ(timing.status().code(), absl::StatusCode::kInvalidArgument) << bad.what;
    EXPECT_THAT(std::string(timing.status().message()), HasSubstr(bad.words)) << bad.what;
  }
}

}  // namespace
}  // namespace nvc
