#include "tf_nvcodec/core/format/orientation.h"

#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/core/testing/orientations.h"

namespace nvc {
namespace {

struct Named {
  int32_t a, b, c, d;
  bool mirrored;
  int rotation;
};

// The matrices show the point (p, q) at (a p + c q, b p + d q), with y downwards.
constexpr int32_t kOne = 1 << 16;
const Named kNamed[] = {
    {kOne, 0, 0, kOne, false, 0},     {0, kOne, -kOne, 0, false, 90},
    {-kOne, 0, 0, -kOne, false, 180}, {0, -kOne, kOne, 0, false, 270},
    {-kOne, 0, 0, kOne, true, 0},     {0, -kOne, -kOne, 0, true, 90},
    {kOne, 0, 0, -kOne, true, 180},   {0, kOne, kOne, 0, true, 270},
};

TEST(OrientationTest, TheEightMatrices) {
  for (const Named& named : kNamed) {
    // Where the picture is moved to, how large it is, and w say nothing about its orientation.
    for (const auto& [across, down] : {std::pair(1, 1), std::pair(2, 2), std::pair(1, 3)}) {
      const int32_t matrix[9] = {named.a * across,
                                 named.b * down,
                                 0,
                                 named.c * across,
                                 named.d * down,
                                 0,
                                 1 << 20,
                                 7,
                                 across};
      const auto orientation = OrientationOf(matrix);
      ASSERT_TRUE(orientation.has_value());
      EXPECT_EQ(orientation->mirrored(), named.mirrored) << named.a << " " << named.b;
      EXPECT_EQ(orientation->rotation(), named.rotation) << named.a << " " << named.b;
    }
  }
}

TEST(OrientationTest, AMatrixIsWrittenAsItIsRead) {
  std::set<std::pair<bool, int>> different;
  for (const Orientation& orientation : kOrientations) {
    int32_t matrix[9];
    SetDisplayMatrix(orientation, matrix);
    EXPECT_EQ(OrientationOf(matrix), orientation);
    EXPECT_EQ(matrix[8], 1 << 30);
    different.emplace(orientation.mirrored(), orientation.rotation());
  }
  EXPECT_EQ(different.size(), 8u);
}

TEST(OrientationTest, OtherMatricesHaveNone) {
  const int32_t half = 46341;
  const int32_t others[][9] = {
      {half, half, 0, -half, half, 0, 0, 0, 1 << 30},  // 45 degrees
      {kOne, 1, 0, 0, kOne, 0, 0, 0, 1 << 30},         // shears
      {kOne, 0, 0, -kOne, kOne, 0, 0, 0, 1 << 30},
      {kOne, kOne, 0, 0, 0, 0, 0, 0, 1 << 30},  // everything in a line
      {kOne, 0, 0, 0, 0, 0, 0, 0, 1 << 30},
      {0, 0, 0, 0, 0, 0, 0, 0, 1 << 30},
      {kOne, 0, 1, 0, kOne, 0, 0, 0, 1 << 30},  // perspectives
      {0, kOne, 0, -kOne, 0, -1, 0, 0, 1 << 30},
  };
  for (const auto& matrix : others) EXPECT_FALSE(OrientationOf(matrix).has_value());
}

}  // namespace
}  // namespace nvc
