#include "tf_nvcodec/core/base/permutation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

std::vector<uint64_t> Order(uint64_t size, uint64_t seed) {
  const Permutation permutation(size, seed);
  std::vector<uint64_t> order(size);
  for (uint64_t i = 0; i < size; ++i) order[i] = permutation(i);
  return order;
}

bool IsPermutation(std::vector<uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (uint64_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// Returns how far `counts` are from being equal, in standard deviations of the chi-square statistic
// with that many degrees of freedom.
double Excess(const std::vector<int>& counts, double degrees) {
  const double mean =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - mean) * (count - mean) / mean;
  return (chi_square - degrees) / std::sqrt(2 * degrees);
}

TEST(PermutationTest, GivesEveryValueOnce) {
  for (uint64_t size = 1; size <= 300; ++size) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, size * 7919}) {
      ASSERT_TRUE(IsPermutation(Order(size, seed))) << size << ", seed " << seed;
    }
  }
  for (const uint64_t size : {4095, 4096, 4097, 65536, 100003, 1 << 20}) {
    ASSERT_TRUE(IsPermutation(Order(size, 5))) << size;
  }
}

TEST(PermutationTest, LargeSizesGiveDistinctValues) {
  for (const uint64_t size : {(uint64_t{1} << 40) + 7, (uint64_t{1} << 62) + 1,
                              static_cast<uint64_t>(std::numeric_limits<int64_t>::max())}) {
    const Permutation permutation(size, 3);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < 20000; ++i) {
      const uint64_t value = permutation(i % 2 == 0 ? i : size - i);
      ASSERT_LT(value, size);
      ASSERT_TRUE(seen.insert(value).second) << size << " at " << i;
    }
    // About half of the values lie in the lower half.
    const auto lower = std::distance(seen.begin(), seen.lower_bound(size / 2));
    EXPECT_NEAR(static_cast<double>(lower), 10000, 400) << size;
  }
}

TEST(PermutationTest, EveryValueIsEquallyLikelyAtEveryPlace) {
  for (const uint64_t size : {2, 3, 5, 10, 16, 17, 33}) {
    std::vector<int> counts(size * size);
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      const std::vector<uint64_t> order = Order(size, seed);
      for (uint64_t i = 0; i < size; ++i) ++counts[i * size + order[i]];
    }
    const auto free = static_cast<double>((size - 1) * (size - 1));
    EXPECT_LT(Excess(counts, free), 4) << size;
  }
}

TEST(PermutationTest, EveryOrderOfFourIsEquallyLikely) {
  std::vector<std::vector<uint64_t>> orders;
  std::vector<uint64_t> order = {0, 1, 2, 3};
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<int> counts(orders.size());
  for (uint64_t seed = 0; seed < 24000; ++seed) {
    const auto found = std::lower_bound(orders.begin(), orders.end(), Order(4, seed));
    ++counts[static_cast<size_t>(found - orders.begin())];
  }
  EXPECT_LT(Excess(counts, 23), 4);
}

TEST(PermutationTest, ScaleToBoundIsUniformAndBelowTheBound) {
  EXPECT_EQ(ScaleToBound(0, 7), 0);
  EXPECT_EQ(ScaleToBound(~uint64_t{0}, 7), 6);
  EXPECT_EQ(ScaleToBound(~uint64_t{0}, 1), 0);
  EXPECT_EQ(ScaleToBound(~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
  std::vector<int> counts(13);
  for (uint64_t i = 0; i < 13000; ++i) ++counts[ScaleToBound(HashMix(9, i), 13)];
  EXPECT_LT(Excess(counts, 12), 4);
}

}  // namespace
}  // namespace nvc
