#include "tf_nvcodec/core/convert/resample_axis.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

AxisSpec Whole(ResizeMethod method, int from, int to) {
  AxisSpec spec;
  spec.method = method;
  spec.count = to;
  spec.span = from;
  spec.last = from;
  return spec;
}

std::vector<float> Apply(const Axis& axis, const std::vector<float>& from) {
  std::vector<float> to;
  for (int i = 0; i < axis.count(); ++i) {
    float sum = 0;
    for (int k = 0; k < axis.taps; ++k) {
      const int at = axis.start[i] + k;
      EXPECT_TRUE(at >= axis.begin && at < axis.end) << i;
      sum += (axis.taps == 1 ? 1 : axis.weights[i * axis.taps + k]) * from.at(at);
    }
    to.push_back(sum);
  }
  return to;
}

struct KnownResize {
  ResizeMethod method;
  std::vector<float> from, to;
};

// The expected values are those of tf.image.resize(antialias=False) in TensorFlow 2.17.1. Its
// bicubic weights come from a table, so the tolerance covers the table's steps.
TEST(AxisTest, AgreesWithTensorFlow) {
  const std::vector<float> ramp = {0, 10, 40, 20, 70};
  const KnownResize cases[] = {
      {ResizeMethod::kNearest, ramp, {0, 40, 70}},
      {ResizeMethod::kNearest, ramp, {0, 0, 10, 40, 40, 20, 70, 70}},
      {ResizeMethod::kNearest, ramp, {10, 20}},
      {ResizeMethod::kBilinear, ramp, {3.33333f, 40, 53.3333f}},
      {ResizeMethod::kBilinear, ramp, {0, 4.375f, 11.875f, 30.625f, 33.75f, 21.25f, 48.125f, 70}},
      {ResizeMethod::kBilinear, ramp, {7.5f, 32.5f}},
      {ResizeMethod::kBicubic, ramp, {1.72212f, 40, 55.5359f}},
      {ResizeMethod::kBicubic,
       ramp,
       {-0.719557f, 2.43749f, 11.4172f, 33.6462f, 35.0928f, 19.4189f, 49.2533f, 73.5978f}},
      {ResizeMethod::kBicubic, ramp, {5.72519f, 29.6947f}},
      {ResizeMethod::kArea, ramp, {4, 30, 50}},
      {ResizeMethod::kArea, ramp, {0, 4, 10, 34, 36, 20, 50, 70}},
      {ResizeMethod::kArea, ramp, {12, 44}},
  };
  for (const KnownResize& c : cases) {
    const Axis axis =
        MakeAxis(Whole(c.method, static_cast<int>(c.from.size()), static_cast<int>(c.to.size())));
    EXPECT_THAT(Apply(axis, c.from), Pointwise(FloatNear(0.03f), c.to))
        << static_cast<int>(c.method) << " " << c.to.size();
  }
}

TEST(AxisTest, WeightsSumToOneInsideTheirBounds) {
  for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                              ResizeMethod::kBicubic, ResizeMethod::kArea}) {
    for (int from : {1, 2, 3, 17, 100}) {
      for (int to : {1, 2, 5, 16, 33, 250}) {
        for (double shift : {0.0, 0.25, -0.375}) {
          AxisSpec spec = Whole(method, from, to);
          spec.origin = shift;
          const Axis axis = MakeAxis(spec);
          ASSERT_EQ(axis.count(), to);
          EXPECT_GE(axis.begin, 0);
          EXPECT_LE(axis.end, from);
          const std::vector<float> ones(from, 1.0f);
          EXPECT_THAT(Apply(axis, ones), ::testing::Each(FloatNear(1, 1e-5f)))
              << static_cast<int>(method) << " " << from << " " << to;
        }
      }
    }
  }
}

TEST(AxisTest, SameSizeIsTheIdentity) {
  for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                              ResizeMethod::kBicubic, ResizeMethod::kArea}) {
    AxisSpec spec = Whole(method, 7, 7);
    EXPECT_TRUE(MakeAxis(spec).identity);
    spec.origin = 3;
    spec.last = 12;
    EXPECT_TRUE(MakeAxis(spec).identity);
    EXPECT_EQ(MakeAxis(spec).begin, 3);
    EXPECT_EQ(MakeAxis(spec).end, 10);
    spec.count = 8;
    EXPECT_FALSE(MakeAxis(spec).identity);
  }
}

TEST(AxisTest, TiesBetweenSamplesFollowTheShownOrder) {
  AxisSpec spec = Whole(ResizeMethod::kNearest, 6, 3);
  EXPECT_THAT(MakeAxis(spec).start, ElementsAre(1, 3, 5));
  // The stored axis is reversed. Ties still go up in the displayed picture, which makes them go
  // down to samples 4, 2 and 0 in the stored one.
  spec.flip = true;
  EXPECT_THAT(MakeAxis(spec).start, ElementsAre(0, 2, 4));
}

TEST(AxisTest, PaddedTapsGiveTheSame) {
  const std::vector<float> from = {3, 1, 4, 1, 5, 9, 2, 6};
  const Axis axis = MakeAxis(Whole(ResizeMethod::kBilinear, 8, 21));
  Axis padded = axis;
  ASSERT_TRUE(PadTaps(4, 8, &padded));
  EXPECT_EQ(padded.taps, 4);
  EXPECT_EQ(Apply(padded, from), Apply(axis, from));
  EXPECT_LE(padded.end, 8);
  Axis unchanged = axis;
  EXPECT_FALSE(PadTaps(9, 8, &unchanged));
  EXPECT_EQ(unchanged.taps, axis.taps);
}

}  // namespace
}  // namespace nvc
