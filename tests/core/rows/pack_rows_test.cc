#include "tf_nvcodec/core/rows/pack_rows.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr int kMargin = 40;  // bytes after each result that must not change

std::vector<float> Floats(std::mt19937* random, int count, float low, float high) {
  std::vector<float> floats(count);
  for (float& value : floats) value = std::uniform_real_distribution<float>(low, high)(*random);
  return floats;
}

// Bytes that are aligned so that rows may be streamed to them.
class Aligned {
 public:
  explicit Aligned(size_t bytes) : bytes_(bytes + kMargin + 32, 0xa5) {}
  uint8_t* data() {
    return bytes_.data() + (32 - reinterpret_cast<uintptr_t>(bytes_.data()) % 32) % 32;
  }

 private:
  std::vector<uint8_t> bytes_;
};

float Highest(SampleType type) {
  return type == SampleType::kUint8 ? 255 : type == SampleType::kUint16 ? 1023 : 3;
}

std::vector<std::vector<uint8_t>> RunPack(const PackKernels& kernels, int count, bool stream) {
  std::mt19937 random(count);
  std::vector<std::vector<uint8_t>> results;
  const auto result = [&](size_t bytes) {
    results.emplace_back(bytes + kMargin, 0xa5);
    return results.back().data();
  };
  for (SampleType type :
       {SampleType::kUint8, SampleType::kUint16, SampleType::kFloat16, SampleType::kFloat32}) {
    const bool is_float = type == SampleType::kFloat16 || type == SampleType::kFloat32;
    std::vector<std::vector<float>> rows;
    for (int c = 0; c < 3; ++c) {
      rows.push_back(Floats(&random, count, is_float ? -3 : 0, Highest(type)));
    }
    const float* const from[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
    for (int channels = 1; channels <= 3; ++channels) {
      const int shift = type == SampleType::kUint16 ? 6 * (channels - 1) / 2 : 0;
      const size_t bytes = SampleSize(type) * channels * count;
      Aligned aligned(bytes);
      kernels.pack(from, channels, count, type, shift, stream, aligned.data());
      kernels.fence();
      memcpy(result(bytes), aligned.data(), bytes + kMargin);
    }
  }
  std::vector<std::vector<uint16_t>> words(3, std::vector<uint16_t>(count));
  for (auto& row : words) {
    for (uint16_t& word : row) word = static_cast<uint16_t>(random());
  }
  const uint16_t* const from_words[3] = {words[0].data(), words[1].data(), words[2].data()};
  const uint8_t* from_bytes[3];
  for (int c = 0; c < 3; ++c) from_bytes[c] = reinterpret_cast<const uint8_t*>(from_words[c]);
  std::vector<uint16_t> aligned(3 * count + 1);
  for (int channels = 1; channels <= 3; ++channels) {
    kernels.interleave_bytes(from_bytes, channels, count, result(channels * count));
    kernels.interleave_words(from_words, channels, count, aligned.data());
    memcpy(result(2 * channels * count), aligned.data(), 2 * channels * count);
  }
  struct Scaling {
    int right, highest, left;
  };
  for (const Scaling& s : {Scaling{2, 1023, 6}, {0, 1023, 6}, {8, 255, 8}, {6, 1023, 0}}) {
    kernels.scale_words(from_words[0], s.right, s.highest, s.left, count, aligned.data());
    memcpy(result(2 * count), aligned.data(), 2 * count);
  }
  kernels.widen_bytes(from_bytes[0], 8, count, aligned.data());
  memcpy(result(2 * count), aligned.data(), 2 * count);
  for (int right : {0, 4, 8}) kernels.narrow_words(from_words[0], right, count, result(count));
  return results;
}

TEST(PackRowsTest, VectorsGiveTheSameBytesAtEveryWidth) {
  for (int count = 1; count <= 130; ++count) {
    const auto expected = RunPack(GetPackKernels(Simd::kPortable), count, false);
    for (Simd simd : SupportedSimd()) {
      ASSERT_EQ(RunPack(GetPackKernels(simd), count, false), expected) << count;
      ASSERT_EQ(RunPack(GetPackKernels(simd), count, true), expected) << count;
    }
    for (const auto& bytes : expected) {
      for (int k = 1; k <= kMargin; ++k) ASSERT_EQ(bytes[bytes.size() - k], 0xa5) << count;
    }
  }
}

TEST(PackRowsTest, MapsGiveTheSameBitsAtEveryWidth) {
  for (int count = 1; count <= 130; ++count) {
    std::mt19937 random(count);
    std::vector<std::vector<float>> rows;
    for (int c = 0; c < 3; ++c) rows.push_back(Floats(&random, count, 0, 255));
    const float* const x[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
    const LinearMap map = {{1.164f, -0.392f, 0.813f}, -17.3f, 0, 255};
    for (int inputs = 1; inputs <= 3; ++inputs) {
      std::vector<float> portable(count);
      GetPackKernels(Simd::kPortable).map(map, x, inputs, count, portable.data());
      for (Simd simd : SupportedSimd()) {
        std::vector<float> mapped(count);
        GetPackKernels(simd).map(map, x, inputs, count, mapped.data());
        ASSERT_EQ(mapped, portable) << count << " " << inputs;
      }
      const float* m = map.factor;
      double sum = map.offset + m[0] * x[0][0];
      if (inputs > 1) sum += m[1] * x[1][0];
      if (inputs > 2) sum += m[2] * x[2][0];
      ASSERT_NEAR(portable[0], std::min(255.0, std::max(0.0, sum)), 1e-4);
    }
  }
}

TEST(PackRowsTest, IntegersRoundHalfUp) {
  const float values[] = {0, 0.49f, 0.5f, 1.5f, 2.5f, 254.5f, 255};
  const uint8_t expected[] = {0, 0, 1, 2, 3, 255, 255};
  const float* const from[3] = {values, nullptr, nullptr};
  uint8_t bytes[7];
  GetPackKernels(BestSimd()).pack(from, 1, 7, SampleType::kUint8, 0, false, bytes);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(bytes[i], expected[i]) << values[i];
}

TEST(PackRowsTest, DepthsScaleWithRounding) {
  const uint16_t from[] = {0, 1, 2, 5, 1021, 1022, 1023};
  uint8_t bytes[7];
  GetPackKernels(BestSimd()).narrow_words(from, 2, 7, bytes);
  const uint8_t expected[] = {0, 0, 1, 1, 255, 255, 255};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(bytes[i], expected[i]) << from[i];
}

TEST(PackRowsTest, HalvesAreTheNearest) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const int exponent = half >> 10, mantissa = half & 1023;
    const double value =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    const double ulp = std::ldexp(1.0, std::max(exponent, 1) - 25);
    EXPECT_EQ(ToHalf(static_cast<float>(value)), half);
    EXPECT_EQ(ToHalf(static_cast<float>(-value)), half | 0x8000);
    // A value half-way to the next half is rounded to the even one. A slightly larger value is
    // rounded up.
    EXPECT_EQ(ToHalf(static_cast<float>(value + ulp / 2)), half + half % 2);
    EXPECT_EQ(ToHalf(static_cast<float>(value + ulp * 0.501)), half + 1);
  }
  EXPECT_EQ(ToHalf(65520), 0x7c00);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::quiet_NaN()) & 0x7fff, 0x7e00);
}

}  // namespace
}  // namespace nvc
