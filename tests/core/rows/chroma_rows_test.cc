#include "tf_nvcodec/core/rows/chroma_rows.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr int16_t kUntouched = -12345;

std::vector<std::vector<int16_t>> RunKernels(const ChromaRowKernels& kernels, int count) {
  std::mt19937 random(count);
  std::vector<uint8_t> bytes;
  std::vector<uint16_t> words;
  std::vector<int16_t> a, b;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<uint8_t>(random()));
    words.push_back(static_cast<uint16_t>(random()));
    a.push_back(static_cast<int16_t>(random() & 0x7fff));
    b.push_back(static_cast<int16_t>(random() & 0x7fff));
  }
  std::vector<std::vector<int16_t>> results;
  const auto result = [&](int size) {
    results.emplace_back(size + 1, kUntouched);
    return results.back().data();
  };
  kernels.fractions8(bytes.data(), 7, count, result(count));
  kernels.fractions16(words.data(), 5, 0, count, result(count));
  kernels.fractions16(words.data(), 0, 1, count, result(count));
  for (int16_t weight : {0, 8192, 16384, 24576}) {
    kernels.blend(a.data(), b.data(), weight, count, result(count));
  }
  kernels.zip(a.data(), b.data(), count, reinterpret_cast<uint16_t*>(result(2 * count)));
  return results;
}

TEST(ChromaRowsTest, VectorsGiveTheSameBitsAtEveryWidth) {
  for (int count = 1; count <= 130; ++count) {
    const auto expected = RunKernels(GetChromaRowKernels(Simd::kPortable), count);
    for (Simd simd : SupportedSimd()) {
      ASSERT_EQ(RunKernels(GetChromaRowKernels(simd), count), expected) << count;
    }
    for (const auto& row : expected) ASSERT_EQ(row.back(), kUntouched);
  }
}

TEST(ChromaRowsTest, BlendsToTheNearest) {
  std::vector<int16_t> a, b;
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    a.push_back(static_cast<int16_t>(random() & 0x7fff));
    b.push_back(static_cast<int16_t>(random() & 0x7fff));
  }
  std::vector<int16_t> to(a.size());
  for (int16_t weight : {0, 8192, 16384, 24576}) {
    GetChromaRowKernels(BestSimd()).blend(a.data(), b.data(), weight, 1000, to.data());
    for (int i = 0; i < 1000; ++i) {
      ASSERT_LE(std::abs(to[i] - (a[i] + (b[i] - a[i]) * (weight / 32768.0))), 0.5);
    }
  }
}

}  // namespace
}  // namespace nvc
