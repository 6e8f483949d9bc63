// The inner loops that convert rows of Y'CbCr to rows of 8-bit R'G'B', in 16-bit fixed point.
// Frames that are not resized take this path.
//
// Samples are fractions of 2^depth with 15 bits after the point. They are multiplied by factors
// with 13 bits after the point, and the products are added with 5 bits after the point. Each of at
// most three products is off by at most 1/64, and there is one rounding to an integer. So the
// result is within 1 of the exact one. The versions for all instruction sets give the same bits.
#ifndef TF_NVCODEC_CORE_ROWS_YUV_RGB_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_YUV_RGB_ROWS_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

struct YuvRgbFactors {
  int16_t y, cr_to_r, cb_to_g, cr_to_g, cb_to_b;
  int16_t luma_offset;  // 15 bits after the point
  // Shifts that make 15-bit fractions of code values: to the left or, for 16 bits, to the right.
  int left, right;
};
// `depth` is the bit depth of the samples.
YuvRgbFactors MakeYuvRgbFactors(const YuvToRgb& yuv_to_rgb, int depth);

// What chroma adds to the red, green and blue of a row of pixels. Rows with the same chroma samples
// share it. Only the kernels know the order of the elements.
class ChromaTerms {
 public:
  // Makes the terms of a row without chroma.
  explicit ChromaTerms(int width);
  int16_t* red() { return terms_.data(); }
  int16_t* green() { return terms_.data() + stride_; }
  int16_t* blue() { return terms_.data() + 2 * stride_; }
  const int16_t* red() const { return terms_.data(); }
  const int16_t* green() const { return terms_.data() + stride_; }
  const int16_t* blue() const { return terms_.data() + 2 * stride_; }

  static constexpr int kBlock = 32;  // widths are rounded up to whole blocks
  // Every term includes one half, so that sums are rounded to the nearest integer.
  static constexpr int16_t kHalf = 1 << 4;

 private:
  size_t stride_;
  std::vector<int16_t> terms_;
};

struct YuvRgbKernels {
  // Computes the terms of `count` pixels from count >> log2 (rounded up) chroma samples. `log2` is
  // 0 or 1.
  void (*chroma8)(const YuvRgbFactors&, const uint8_t* cb, const uint8_t* cr, int log2, int count,
                  ChromaTerms* terms);
  void (*chroma16)(const YuvRgbFactors&, const uint16_t* cb, const uint16_t* cr, int log2,
                   int count, ChromaTerms* terms);
  // Converts `count` pixels to the planes red, green and blue. With `stream`, aligned rows bypass
  // the caches. Call `fence` before another thread reads them.
  void (*planar8)(const YuvRgbFactors&, const uint8_t* luma, const ChromaTerms&, int count,
                  bool stream, uint8_t* const rgb[3]);
  void (*planar16)(const YuvRgbFactors&, const uint16_t* luma, const ChromaTerms&, int count,
                   bool stream, uint8_t* const rgb[3]);
  // Converts `count` pixels to R, G, B triples, or to B, G, R with `bgr`.
  void (*packed8)(const YuvRgbFactors&, const uint8_t* luma, const ChromaTerms&, int count,
                  bool bgr, bool stream, uint8_t* to);
  void (*packed16)(const YuvRgbFactors&, const uint16_t* luma, const ChromaTerms&, int count,
                   bool bgr, bool stream, uint8_t* to);
  // Converts luma alone, stretched to 0..255.
  void (*gray8)(const YuvRgbFactors&, const uint8_t* luma, int count, uint8_t* to);
  void (*gray16)(const YuvRgbFactors&, const uint16_t* luma, int count, uint8_t* to);
  void (*fence)();
};

// Returns the version for the instruction set `simd`, which the processor must support.
const YuvRgbKernels& GetYuvRgbKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_YUV_RGB_ROWS_H_
