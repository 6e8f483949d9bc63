#include "tf_nvcodec/core/clips/augmentation.h"

#include <cmath>

#include "gtest/gtest.h"

namespace nvc {
namespace {

Augmentation Part(double low, double high) {
  Augmentation augmentation;
  augmentation.area = Augmentation::Range{low, high};
  return augmentation;
}

TEST(AugmentationTest, CropsHaveTheDrawnAreaAndShapeAndLieAnywhere) {
  const Augmentation part = Part(0.2, 0.5);
  constexpr int kHeight = 480, kWidth = 640, kDraws = 4000;
  double area = 0, logarithm = 0, top = 0;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    Clip clip;
    ASSERT_TRUE(part.Draw(kHeight, kWidth, seed, &clip).ok());
    const Crop crop = *clip.crop;
    ASSERT_GE(crop.top, 0);
    ASSERT_GE(crop.left, 0);
    ASSERT_LE(crop.top + crop.height, kHeight);
    ASSERT_LE(crop.left + crop.width, kWidth);
    const double own = static_cast<double>(crop.width) * crop.height / (kHeight * kWidth);
    ASSERT_NEAR(own, 0.35, 0.155);
    ASSERT_NEAR(std::log(static_cast<double>(crop.width) / crop.height), 0, 0.295);
    area += own;
    logarithm += std::log(static_cast<double>(crop.width) / crop.height);
    top += static_cast<double>(crop.top) / (kHeight - crop.height);
  }
  EXPECT_NEAR(area / kDraws, 0.35, 0.01);
  EXPECT_NEAR(logarithm / kDraws, 0, 0.01);
  EXPECT_NEAR(top / kDraws, 0.5, 0.02);
}

// No crop of such a shape fits into a strip, so the largest one in its middle is taken.
TEST(AugmentationTest, AStripGivesItsMiddle) {
  Clip clip;
  ASSERT_TRUE(Part(0.9, 1).Draw(30, 900, 1, &clip).ok());
  EXPECT_EQ(clip.crop->height, 30);
  EXPECT_EQ(clip.crop->width, 40);
  EXPECT_EQ(clip.crop->left, 430);
  ASSERT_TRUE(Part(0.9, 1).Draw(900, 30, 1, &clip).ok());
  EXPECT_EQ(clip.crop->width, 30);
  EXPECT_EQ(clip.crop->height, 40);
}

TEST(AugmentationTest, FlipsAsOftenAsAsked) {
  Augmentation augmentation;
  augmentation.flip = 0.3;
  int flips = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Clip clip;
    ASSERT_TRUE(augmentation.Draw(9, 16, seed, &clip).ok());
    EXPECT_FALSE(clip.crop.has_value());
    flips += clip.flip;
  }
  EXPECT_NEAR(flips / 5000.0, 0.3, 0.02);
}

}  // namespace
}  // namespace nvc
