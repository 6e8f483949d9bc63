#include "tf_nvcodec/core/rows/rgb_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/encode/rgb_weights.h"

namespace nvc {
namespace {

constexpr int kWidths[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 257};

template <typename T>
std::vector<T> Random(size_t count, int low, int high) {
  std::mt19937 generator(17);
  std::uniform_int_distribution<int> any(low, high);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(any(generator));
  return values;
}

template <typename T>
struct Planes {
  explicit Planes(int width) {
    for (int c = 0; c < 3; ++c) {
      data[c].resize(2 * width + 2);
      pointers[c] = data[c].data();
    }
  }
  bool operator==(const Planes& other) const {
    for (int c = 0; c < 3; ++c) {
      if (std::memcmp(data[c].data(), other.data[c].data(), data[c].size() * sizeof(T)) != 0) {
        return false;
      }
    }
    return true;
  }
  const T* const* inputs() const { return pointers; }

  std::vector<T> data[3];
  T* pointers[3];
};

// Runs `kernel` with the table of each instruction set and expects the same bytes from all.
template <typename Out, typename Kernel>
void ExpectSameBits(int width, const char* what, Kernel kernel) {
  Planes<Out> portable(width);
  kernel(RgbRows(Simd::kPortable), &portable);
  for (const Simd simd : SupportedSimd()) {
    Planes<Out> planes(width);
    kernel(RgbRows(simd), &planes);
    EXPECT_TRUE(planes == portable) << what << " at width " << width;
  }
}

TEST(RgbRowsTest, VersionsAgreeToTheBit) {
  const FloatWeights weights = {{0.25f, 0.61f, -0.13f}, 17.3f, 1023};
  const FixedLuma luma = MakeFixedLuma(MakeRgbToYuv(ColorSpace::kBt709, ColorRange::kLimited, 8));
  const FixedChroma chroma =
      MakeFixedChroma(MakeRgbToYuv(ColorSpace::kBt601, ColorRange::kFull, 8), 2);
  for (const int width : kWidths) {
    const auto bytes = Random<uint8_t>(3 * width, 0, 255);
    const auto words = Random<uint16_t>(3 * width, 0, 65535);
    auto floats = Random<float>(3 * width, -300, 1800);
    for (float& value : floats) value /= 1000;
    ExpectSameBits<uint8_t>(width, "split8", [&](const RgbRowKernels& k, Planes<uint8_t>* out) {
      k.split8(bytes.data(), width, out->pointers);
    });
    for (const int channels : {1, 3}) {
      ExpectSameBits<float>(width, "widen8", [&](const RgbRowKernels& k, Planes<float>* out) {
        k.widen8(bytes.data(), channels, width, out->pointers);
      });
      ExpectSameBits<float>(width, "widen16", [&](const RgbRowKernels& k, Planes<float>* out) {
        k.widen16(words.data(), channels, width, out->pointers);
      });
      ExpectSameBits<float>(width, "half", [&](const RgbRowKernels& k, Planes<float>* out) {
        k.widen_half(words.data(), channels, width, out->pointers);
      });
      ExpectSameBits<float>(width, "float", [&](const RgbRowKernels& k, Planes<float>* out) {
        EXPECT_TRUE(k.widen_float(floats.data(), channels, width, out->pointers));
      });
    }
    Planes<uint8_t> channels8(width);
    Planes<float> channels(width);
    Planes<uint16_t> sums(width);
    for (int c = 0; c < 3; ++c) {
      channels8.data[c] = Random<uint8_t>(2 * width + 2, 0, 255);
      sums.data[c] = Random<uint16_t>(2 * width + 2, 0, 32640);
      channels.data[c] = Random<float>(2 * width + 2, -100, 5000);
      channels8.pointers[c] = channels8.data[c].data();
      sums.pointers[c] = sums.data[c].data();
      channels.pointers[c] = channels.data[c].data();
    }
    ExpectSameBits<uint8_t>(width, "luma8", [&](const RgbRowKernels& k, Planes<uint8_t>* out) {
      k.luma8(luma, channels8.inputs(), width, out->pointers[0]);
    });
    ExpectSameBits<uint8_t>(width, "chroma8", [&](const RgbRowKernels& k, Planes<uint8_t>* out) {
      k.chroma8(chroma, sums.inputs(), width, out->pointers[0]);
    });
    for (const bool halve : {false, true}) {
      ExpectSameBits<uint16_t>(width, "block8", [&](const RgbRowKernels& k, Planes<uint16_t>* out) {
        k.block8(channels8.pointers[0], channels8.pointers[1], width, halve, out->pointers[0]);
      });
      ExpectSameBits<float>(width, "block", [&](const RgbRowKernels& k, Planes<float>* out) {
        k.block(channels.pointers[0], channels.pointers[1], width, halve, out->pointers[0]);
      });
    }
    ExpectSameBits<uint8_t>(width, "to8", [&](const RgbRowKernels& k, Planes<uint8_t>* out) {
      FloatWeights narrow = weights;
      narrow.max = 255;
      k.weigh_to8(narrow, channels.inputs(), width, out->pointers[0]);
      k.scale_to8(narrow, channels.pointers[0], width, out->pointers[1]);
    });
    ExpectSameBits<uint16_t>(width, "to16", [&](const RgbRowKernels& k, Planes<uint16_t>* out) {
      k.weigh_to16(weights, channels.inputs(), width, out->pointers[0]);
      k.scale_to16(weights, channels.pointers[0], width, out->pointers[1]);
    });
  }
}

TEST(RgbRowsTest, HalfFloatsAreExact) {
  for (const Simd simd : SupportedSimd()) {
    std::vector<uint16_t> halves;
    for (int bits = 0; bits <= 0x4000; ++bits) halves.push_back(static_cast<uint16_t>(bits));
    std::vector<float> out(halves.size());
    float* const planes[3] = {out.data(), nullptr, nullptr};
    const int count = static_cast<int>(halves.size());
    ASSERT_TRUE(RgbRows(simd).widen_half(halves.data(), 1, count, planes));
    for (size_t i = 0; i < halves.size(); ++i) {
      const int exponent = halves[i] >> 10, mantissa = halves[i] & 0x3ff;
      const double value =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      ASSERT_EQ(out[i], value) << halves[i];
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
        EXPECT_FALSE(RgbRows(simd).widen_float(samples.data(), 3, 13, planes)) << bad;
      }
    }
    // +-infinity, NaN, 2.002 and -1.001.
    for (const uint16_t bad : {0x7c00, 0xfc00, 0x7e00, 0x4001, 0xbc01}) {
      std::vector<uint16_t> samples(20, 0x3800);
      std::vector<float> out(20);
      samples[11] = bad;
      float* const planes[3] = {out.data(), nullptr, nullptr};
      EXPECT_FALSE(RgbRows(simd).widen_half(samples.data(), 1, 20, planes)) << bad;
    }
  }
}

TEST(RgbRowsTest, FixedPointIsWithinOneCodeOfEveryColour) {
  constexpr int kSteps = 18;  // 0, 15, ..., 255
  for (const ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    for (const ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      const RgbToYuv matrix = MakeRgbToYuv(space, range, 8);
      const FixedLuma luma = MakeFixedLuma(matrix);
      const FixedChroma chroma[2] = {MakeFixedChroma(matrix, 1), MakeFixedChroma(matrix, 2)};
      Planes<uint8_t> rgb(kSteps * kSteps * kSteps / 2);
      int count = 0;
      for (int i = 0; i < kSteps * kSteps * kSteps; ++i, ++count) {
        rgb.data[0][i] = static_cast<uint8_t>(i % kSteps * 15);
        rgb.data[1][i] = static_cast<uint8_t>(i / kSteps % kSteps * 15);
        rgb.data[2][i] = static_cast<uint8_t>(i / kSteps / kSteps * 15);
      }
      Planes<uint16_t> sums(count);
      const RgbRowKernels& kernels = RgbRows(BestSimd());
      for (int c = 0; c < 3; ++c) {
        kernels.block8(rgb.pointers[c], rgb.pointers[c], count, false, sums.pointers[c]);
      }
      std::vector<uint8_t> yuv[3];
      for (auto& plane : yuv) plane.resize(count);
      kernels.luma8(luma, rgb.inputs(), count, yuv[0].data());
      for (int c = 0; c < 2; ++c) {
        kernels.chroma8(chroma[c], sums.inputs(), count, yuv[1 + c].data());
      }
      int differing = 0;
      for (int i = 0; i < count; ++i) {
        const bool gray = rgb.data[0][i] == rgb.data[1][i] && rgb.data[1][i] == rgb.data[2][i];
        for (int c = 0; c < 3; ++c) {
          double exact = matrix.offset[c];
          for (int k = 0; k < 3; ++k) exact += matrix.matrix[c][k] * rgb.data[k][i] / 255;
          const double want = std::min(255.0, std::floor(exact + 0.5));
          ASSERT_NEAR(yuv[c][i], exact, 0.54) << i << " component " << c;
          differing += yuv[c][i] != want;
          if (gray && c > 0) {
            ASSERT_EQ(yuv[c][i], 128) << i;
          } else if (gray && range == ColorRange::kFull) {
            ASSERT_EQ(yuv[0][i], rgb.data[0][i]);
          }
        }
      }
      EXPECT_LT(differing, 3 * count / 50) << "codes that are not the nearest";
    }
  }
}

}  // namespace
}  // namespace nvc
