#include "tf_nvcodec/core/rows/rgb_rows.h"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"

namespace nvc {
namespace {

template <typename T>
std::vector<T> Random(size_t count, int low, int high) {
  std::mt19937 generator(17);
  std::uniform_int_distribution<int> any(low, high);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(any(generator));
  return values;
}

template <typename T>
std::array<const T*, 3> Thirds(const std::vector<T>& samples) {
  const size_t third = samples.size() / 3;
  return {samples.data(), samples.data() + third, samples.data() + 2 * third};
}

// Returns the outputs of all kernels for rows of `width` samples.
std::vector<std::vector<float>> RunKernels(const RgbRowKernels& k, int width) {
  const size_t samples = 3 * static_cast<size_t>(width);
  const auto bytes = Random<uint8_t>(2 * samples, 0, 255);
  const auto words = Random<uint16_t>(samples, 0, 65535);
  const auto sums = Random<uint16_t>(samples, 0, 32640);
  const auto codes = Random<float>(2 * samples, -100, 5000);
  auto fractions = Random<float>(samples, -300, 1800);
  for (float& value : fractions) value /= 1000;
  const auto byte_planes = Thirds(bytes);
  const auto sum_planes = Thirds(sums);
  const auto code_planes = Thirds(codes);

  std::vector<std::vector<float>> results;
  // Calls kernel(planes) with three planes for samples of the type of `zero`.
  const auto run = [&](auto zero, auto kernel) {
    std::vector<decltype(zero)> out(samples, zero);
    decltype(zero)* const planes[3] = {out.data(), out.data() + width, out.data() + 2 * width};
    kernel(planes);
    results.emplace_back(out.begin(), out.end());
  };
  run(uint8_t{}, [&](uint8_t* const out[3]) { k.split8(bytes.data(), width, out); });
  for (const int channels : {1, 3}) {
    run(0.0f, [&](float* const out[3]) { k.widen8(bytes.data(), channels, width, out); });
    run(0.0f, [&](float* const out[3]) { k.widen16(words.data(), channels, width, out); });
    run(0.0f, [&](float* const out[3]) { k.widen_half(words.data(), channels, width, out); });
    run(0.0f, [&](float* const out[3]) {
      EXPECT_TRUE(k.widen_float(fractions.data(), channels, width, out));
    });
  }
  const FixedLuma luma = MakeFixedLuma(MakeRgbToYuv(ColorSpace::kBt709, ColorRange::kLimited, 8));
  const FixedChroma chroma =
      MakeFixedChroma(MakeRgbToYuv(ColorSpace::kBt601, ColorRange::kFull, 8), 2);
  const FloatWeights weights8 = {{0.25f, 0.61f, -0.13f}, 17.3f, 255};
  const FloatWeights weights16 = {{0.25f, 0.61f, -0.13f}, 17.3f, 1023};
  run(uint8_t{}, [&](uint8_t* const out[3]) {
    k.luma8(luma, byte_planes.data(), width, out[0]);
    k.chroma8(chroma, sum_planes.data(), width, out[1]);
  });
  for (const bool halve : {false, true}) {
    run(uint16_t{}, [&](uint16_t* const out[3]) {
      k.block8(byte_planes[0], byte_planes[1], width, halve, out[0]);
    });
    run(0.0f, [&](float* const out[3]) {
      k.block(code_planes[0], code_planes[1], width, halve, out[0]);
    });
  }
  run(uint8_t{}, [&](uint8_t* const out[3]) {
    k.weigh_to8(weights8, code_planes.data(), width, out[0]);
    k.scale_to8(weights8, code_planes[0], width, out[1]);
  });
  run(uint16_t{}, [&](uint16_t* const out[3]) {
    k.weigh_to16(weights16, code_planes.data(), width, out[0]);
    k.scale_to16(weights16, code_planes[0], width, out[1]);
  });
  return results;
}

TEST(RgbRowsTest, VectorsGiveTheSameValuesAtEveryWidth) {
  for (const int width : {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 257}) {
    const auto portable = RunKernels(GetRgbRowKernels(Simd::kPortable), width);
    for (const Simd simd : SupportedSimd()) {
      EXPECT_EQ(RunKernels(GetRgbRowKernels(simd), width), portable) << width;
    }
  }
}

TEST(RgbRowsTest, NoticesSamplesOutOfRange) {
  const float nan = std::nanf("");
  for (const Simd simd : SupportedSimd()) {
    for (const float bad : {nan, INFINITY, -INFINITY, 2.01f, -1.01f, 255.0f}) {
      for (const int place : {0, 5, 38}) {
        std::vector<float> samples(39, 0.5f), out(13);
        std::vector<float> green(13), blue(13);
        samples[place] = bad;
        float* const planes[3] = {out.data(), green.data(), blue.data()};
        EXPECT_FALSE(GetRgbRowKernels(simd).widen_float(samples.data(), 3, 13, planes)) << bad;
      }
    }
    // +-infinity, NaN, 2.002 and -1.001.
    for (const uint16_t bad : {0x7c00, 0xfc00, 0x7e00, 0x4001, 0xbc01}) {
      std::vector<uint16_t> samples(20, 0x3800);
      std::vector<float> out(20);
      samples[11] = bad;
      float* const planes[3] = {out.data(), nullptr, nullptr};
      EXPECT_FALSE(GetRgbRowKernels(simd).widen_half(samples.data(), 1, 20, planes)) << bad;
    }
  }
}

}  // namespace
}  // namespace nvc
