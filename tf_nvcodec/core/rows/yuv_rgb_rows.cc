#include "tf_nvcodec/core/rows/yuv_rgb_rows.h"

#include <algorithm>
#include <cmath>

namespace nvc {
namespace {

constexpr int kHalf = 1 << 4;  // of an integer, with 5 bits after the point

inline int16_t ToFraction(const YuvRgbFactors& f, int code) {
  return static_cast<int16_t>(static_cast<uint16_t>(code << f.left) >> f.right);
}

// As the instruction PMULHRSW.
inline int MultiplyRounded(int16_t a, int16_t b) { return (a * b + 0x4000) >> 15; }

inline uint8_t Clamp(int value) {
  return static_cast<uint8_t>(std::min(255, std::max(0, value >> 5)));
}

template <typename T>
void Chroma(const YuvRgbFactors& f, const T* cb, const T* cr, int log2, int count,
            ChromaTerms* terms) {
  int16_t *red = terms->red(), *green = terms->green(), *blue = terms->blue();
  for (int i = 0; i < count; ++i) {
    const int16_t u = static_cast<int16_t>(ToFraction(f, cb[i >> log2]) - 0x4000);
    const int16_t v = static_cast<int16_t>(ToFraction(f, cr[i >> log2]) - 0x4000);
    red[i] = static_cast<int16_t>(MultiplyRounded(v, f.cr_to_r) + kHalf);
    green[i] =
        static_cast<int16_t>(MultiplyRounded(u, f.cb_to_g) + MultiplyRounded(v, f.cr_to_g) + kHalf);
    blue[i] = static_cast<int16_t>(MultiplyRounded(u, f.cb_to_b) + kHalf);
  }
}

inline int Luma(const YuvRgbFactors& f, int code) {
  return MultiplyRounded(static_cast<int16_t>(ToFraction(f, code) - f.luma_offset), f.y);
}

template <typename T>
void Planar(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool stream,
            uint8_t* const rgb[3]) {
  const int16_t *red = terms.red(), *green = terms.green(), *blue = terms.blue();
  for (int i = 0; i < count; ++i) {
    const int y = Luma(f, luma[i]);
    rgb[0][i] = Clamp(y + red[i]);
    rgb[1][i] = Clamp(y + green[i]);
    rgb[2][i] = Clamp(y + blue[i]);
  }
}

template <typename T>
void Packed(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool bgr,
            bool stream, uint8_t* to) {
  const int16_t* first = bgr ? terms.blue() : terms.red();
  const int16_t* green = terms.green();
  const int16_t* last = bgr ? terms.red() : terms.blue();
  for (int i = 0; i < count; ++i) {
    const int y = Luma(f, luma[i]);
    to[3 * i] = Clamp(y + first[i]);
    to[3 * i + 1] = Clamp(y + green[i]);
    to[3 * i + 2] = Clamp(y + last[i]);
  }
}

template <typename T>
void Gray(const YuvRgbFactors& f, const T* luma, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) to[i] = Clamp(Luma(f, luma[i]) + kHalf);
}

void Fence() {}

}  // namespace

YuvRgbFactors MakeYuvRgbFactors(const YuvToRgb& yuv_to_rgb, int depth) {
  // A 15-bit fraction times this, shifted right by 15, is 0..255 with 5 bits after the point.
  const double scale = 255.0 * 32 * (1 << depth);
  const auto factor = [&](int row, int column) {
    return static_cast<int16_t>(std::lround(yuv_to_rgb.matrix[row][column] * scale));
  };
  YuvRgbFactors f;
  f.y = factor(0, 0);
  f.cr_to_r = factor(0, 2);
  f.cb_to_g = factor(1, 1);
  f.cr_to_g = factor(1, 2);
  f.cb_to_b = factor(2, 1);
  f.luma_offset = static_cast<int16_t>(std::lround(yuv_to_rgb.luma_offset * 32768 / (1 << depth)));
  f.left = std::max(0, 15 - depth);
  f.right = std::max(0, depth - 15);
  return f;
}

ChromaTerms::ChromaTerms(int width)
    : stride_((static_cast<size_t>(width) + kBlock - 1) / kBlock * kBlock),
      terms_(3 * stride_, kHalf) {}

const YuvRgbKernels& GetYuvRgbKernels(Simd simd) {
  static const YuvRgbKernels portable = {Chroma<uint8_t>,  Chroma<uint16_t>, Planar<uint8_t>,
                                         Planar<uint16_t>, Packed<uint8_t>,  Packed<uint16_t>,
                                         Gray<uint8_t>,    Gray<uint16_t>,   Fence};
#ifdef NVC_HAVE_X86_SIMD
  if (simd == Simd::kAvx2) return internal::Avx2YuvRgbKernels();
#endif
  return portable;
}

}  // namespace nvc
