#include "tf_nvcodec/core/rows/yuv_rgb_rows.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr uint8_t kUnwritten = 0xa5;
constexpr int kRoom = 96;

template <typename T>
std::vector<T> RandomRow(int count, int depth, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> row(count);
  for (T& sample : row) sample = static_cast<T>(random() & ((1 << depth) - 1));
  return row;
}

struct Row {
  int count, depth, log2;
  bool bgr;
};

// Returns the outputs of all kernels for one row, with some bytes after each that must not change.
template <typename T>
std::vector<uint8_t> RunKernels(const SampleToRgbKernels<T>& kernels, void (*fence)(),
                                const Row& row, bool stream) {
  const YuvRgbFactors factors = MakeYuvRgbFactors(
      MakeYuvToRgb(ColorSpace::kBt2020, ColorRange::kLimited, row.depth), row.depth);
  const int chroma_count = (row.count + row.log2) >> row.log2;
  const std::vector<T> luma = RandomRow<T>(row.count, row.depth, 1);
  const std::vector<T> cb = RandomRow<T>(chroma_count, row.depth, 2);
  const std::vector<T> cr = RandomRow<T>(chroma_count, row.depth, 3);
  ChromaTerms terms(row.count);
  kernels.chroma(factors, cb.data(), cr.data(), row.log2, row.count, &terms);
  const int stride = (row.count + 31) / 32 * 32 + kRoom;
  std::vector<uint8_t> out(7 * stride + 32, kUnwritten);
  uint8_t* at = out.data() + (32 - reinterpret_cast<uintptr_t>(out.data()) % 32) % 32;
  const size_t lead = at - out.data();
  uint8_t* const planes[3] = {at, at + stride, at + 2 * stride};
  kernels.planar(factors, luma.data(), terms, row.count, stream, planes);
  kernels.packed(factors, luma.data(), terms, row.count, row.bgr, stream, at + 3 * stride);
  kernels.gray(factors, luma.data(), row.count, at + 6 * stride);
  fence();
  out.erase(out.begin(), out.begin() + lead);
  out.resize(7 * stride);
  return out;
}

std::vector<uint8_t> RunKernels(const YuvRgbKernels& k, const Row& row, bool stream) {
  return row.depth == 8 ? RunKernels(k.bytes, k.fence, row, stream)
                        : RunKernels(k.words, k.fence, row, stream);
}

TEST(YuvRgbRowsTest, VectorsGiveTheSameBitsAtEveryWidth) {
  const YuvRgbKernels& portable = GetYuvRgbKernels(Simd::kPortable);
  for (int count = 1; count <= 130; ++count) {
    for (int depth : {8, 9, 10, 12, 14, 16}) {
      for (int log2 : {0, 1}) {
        const Row row = {count, depth, log2, count % 2 == 1};
        const std::vector<uint8_t> expected = RunKernels(portable, row, false);
        for (Simd simd : SupportedSimd()) {
          for (bool stream : {false, true}) {
            ASSERT_EQ(RunKernels(GetYuvRgbKernels(simd), row, stream), expected)
                << count << " " << depth << " " << log2;
          }
        }
        ASSERT_EQ(expected[3 * count + 3 * ((count + 31) / 32 * 32 + kRoom)], kUnwritten);
      }
    }
  }
}

TEST(YuvRgbRowsTest, WithinOneOfTheEquationsForAllCodes) {
  const YuvRgbKernels& kernels = GetYuvRgbKernels(BestSimd());
  std::vector<uint8_t> luma(256), cb(256), cr(256), out(3 * 256);
  for (int i = 0; i < 256; ++i) luma[i] = static_cast<uint8_t>(i);
  ChromaTerms terms(256);
  for (ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    for (ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      const YuvToRgb exact = MakeYuvToRgb(space, range, 8);
      const YuvRgbFactors factors = MakeYuvRgbFactors(exact, 8);
      int64_t inexact = 0, total = 0;
      for (int u = 0; u < 256; u += 3) {
        for (int v = 0; v < 256; v += 5) {
          std::fill(cb.begin(), cb.end(), static_cast<uint8_t>(u));
          std::fill(cr.begin(), cr.end(), static_cast<uint8_t>(v));
          kernels.bytes.chroma(factors, cb.data(), cr.data(), 0, 256, &terms);
          kernels.bytes.packed(factors, luma.data(), terms, 256, false, false, out.data());
          for (int i = 0; i < 256 * 3; ++i) {
            const double* m = exact.matrix[i % 3];
            const double value = m[0] * (i / 3 - exact.luma_offset) +
                                 m[1] * (u - exact.chroma_offset) +
                                 m[2] * (v - exact.chroma_offset);
            const double expected = std::floor(std::min(1.0, std::max(0.0, value)) * 255 + 0.5);
            ASSERT_LE(std::abs(out[i] - expected), 1) << i << " " << u << " " << v;
            inexact += out[i] != expected;
            ++total;
          }
        }
      }
      EXPECT_LT(static_cast<double>(inexact) / total, 0.03) << Name(space) << " " << Name(range);
    }
  }
}

TEST(YuvRgbRowsTest, NoChromaIsGray) {
  const YuvRgbKernels& kernels = GetYuvRgbKernels(BestSimd());
  const YuvRgbFactors factors =
      MakeYuvRgbFactors(MakeYuvToRgb(ColorSpace::kBt601, ColorRange::kFull, 8), 8);
  const std::vector<uint8_t> luma = RandomRow<uint8_t>(77, 8, 4);
  const ChromaTerms terms(77);
  std::vector<uint8_t> out(3 * 77);
  kernels.bytes.packed(factors, luma.data(), terms, 77, false, false, out.data());
  for (int i = 0; i < 3 * 77; ++i) ASSERT_EQ(out[i], luma[i / 3]);
}

}  // namespace
}  // namespace nvc
