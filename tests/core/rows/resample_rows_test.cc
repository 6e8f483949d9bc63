#include "tf_nvcodec/core/rows/resample_rows.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

template <typename T>
std::vector<T> Samples(std::mt19937* random, int count) {
  std::vector<T> samples(count);
  for (T& sample : samples) sample = static_cast<T>((*random)());
  return samples;
}

std::vector<float> Floats(std::mt19937* random, int count) {
  std::vector<float> floats(count);
  for (float& value : floats) value = std::uniform_real_distribution<float>(-1, 1)(*random);
  return floats;
}

// Returns the outputs of all kernels for T for one random row, with `count` samples each.
template <typename T>
std::vector<std::vector<float>> RunSamples(const SampleKernels<T>& kernels, int count) {
  std::mt19937 random(count);
  // The row ends exactly where the last taps end.
  const std::vector<T> row = Samples<T>(&random, 2 * count + 4);
  std::vector<int32_t> start;
  for (int i = 0; i < count; ++i) start.push_back(2 * i + static_cast<int>(random() % 3));
  const std::vector<float> weights = Floats(&random, 4 * count);
  std::vector<std::vector<float>> results;
  const auto result = [&]() {
    results.emplace_back(count + 1, -7.0f);
    return results.back().data();
  };
  kernels.to_float(row.data(), count, result());
  kernels.pick(row.data(), start.data(), count, result());
  kernels.dot2(row.data(), start.data(), weights.data(), count, result());
  kernels.dot4(row.data(), start.data(), weights.data(), count, result());
  const T* rows[kMaxSummedRows];
  for (int r = 0; r < kMaxSummedRows; ++r) rows[r] = row.data() + r;
  for (int r = 1; r <= kMaxSummedRows; ++r) {
    float* sum = result();
    kernels.add_rows(rows, weights.data(), r, true, count, sum);
    kernels.add_rows(rows, weights.data(), kMaxSummedRows + 1 - r, false, count, sum);
  }
  return results;
}

std::vector<std::vector<float>> RunFloats(const ResampleKernels& kernels, int count) {
  std::mt19937 random(count);
  std::vector<std::vector<float>> results;
  const auto result = [&]() {
    results.emplace_back(count + 1, -7.0f);
    return results.back().data();
  };
  for (int taps : {8, 16, 24}) {
    const std::vector<float> row = Floats(&random, 2 * count + taps);
    std::vector<int32_t> start;
    for (int i = 0; i < count; ++i) start.push_back(2 * i + static_cast<int>(random() % 3));
    const std::vector<float> weights = Floats(&random, taps * count);
    kernels.dot8(row.data(), start.data(), weights.data(), taps, count, result());
  }
  const std::vector<float> row = Floats(&random, count + kMaxSummedRows);
  const float* rows[kMaxSummedRows];
  for (int r = 0; r < kMaxSummedRows; ++r) rows[r] = row.data() + r;
  const float weights[kMaxSummedRows] = {0.3f, -0.2f, 0.7f, 0.1f};
  for (int r = 1; r <= kMaxSummedRows; ++r) {
    kernels.blend_rows(rows, weights, r, count, result());
  }
  return results;
}

TEST(ResampleRowsTest, VectorsGiveTheSameBitsAtEveryWidth) {
  const ResampleKernels& portable = GetResampleKernels(Simd::kPortable);
  for (Simd simd : SupportedSimd()) {
    const ResampleKernels& kernels = GetResampleKernels(simd);
    for (int count = 1; count <= 130; ++count) {
      ASSERT_EQ(RunSamples(kernels.bytes, count), RunSamples(portable.bytes, count)) << count;
      ASSERT_EQ(RunSamples(kernels.words, count), RunSamples(portable.words, count)) << count;
      ASSERT_EQ(RunFloats(kernels, count), RunFloats(portable, count)) << count;
    }
  }
}

TEST(ResampleRowsTest, NothingIsWrittenAfterTheRow) {
  for (Simd simd : SupportedSimd()) {
    for (int count = 1; count <= 40; ++count) {
      for (const auto& row : RunSamples(GetResampleKernels(simd).bytes, count)) {
        EXPECT_EQ(row[count], -7.0f);
      }
      for (const auto& row : RunFloats(GetResampleKernels(simd), count)) {
        EXPECT_EQ(row[count], -7.0f);
      }
    }
  }
}

TEST(ResampleRowsTest, SmallSums) {
  const ResampleKernels& kernels = GetResampleKernels(BestSimd());
  const uint8_t row[] = {10, 20, 40, 80, 160};
  const int32_t start[] = {1, 0};
  float to[2];
  kernels.bytes.pick(row, start, 2, to);
  EXPECT_EQ(to[0], 20);
  EXPECT_EQ(to[1], 10);
  const float halves[] = {0.5f, 0.25f, 0.5f, 0.75f};
  kernels.bytes.dot2(row, start, halves, 2, to);
  EXPECT_EQ(to[0], 30);
  EXPECT_EQ(to[1], 17.5f);
  const float quarters[] = {0, 1, 0.25f, 0, 0.25f, 0, 0.5f, -1};
  kernels.bytes.dot4(row, start, quarters, 2, to);
  EXPECT_EQ(to[0], 110);
  EXPECT_EQ(to[1], -70);
}

}  // namespace
}  // namespace nvc
