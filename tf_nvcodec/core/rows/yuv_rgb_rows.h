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

// The loops for samples of type T, uint8_t or uint16_t. With `stream`, aligned rows bypass the
// caches. Call YuvRgbKernels::fence before another thread reads them.
template <typename T>
struct SampleToRgbKernels {
  // Computes the terms of `count` pixels from count >> log2 (rounded up) chroma samples. `log2` is
  // 0 or 1.
  void (*chroma)(const YuvRgbFactors&, const T* cb, const T* cr, int log2, int count,
                 ChromaTerms* terms);
  // Converts `count` pixels to the planes red, green and blue.
  void (*planar)(const YuvRgbFactors&, const T* luma, const ChromaTerms&, int count, bool stream,
                 uint8_t* const rgb[3]);
  // Converts `count` pixels to R, G, B triples, or to B, G, R with `bgr`.
  void (*packed)(const YuvRgbFactors&, const T* luma, const ChromaTerms&, int count, bool bgr,
                 bool stream, uint8_t* to);
  // Converts luma alone, stretched to 0..255.
  void (*gray)(const YuvRgbFactors&, const T* luma, int count, uint8_t* to);
};

struct YuvRgbKernels {
  SampleToRgbKernels<uint8_t> bytes;
  SampleToRgbKernels<uint16_t> words;
  void (*fence)();
};

// Returns the version for the instruction set `simd`, which the processor must support.
const YuvRgbKernels& GetYuvRgbKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_YUV_RGB_ROWS_H_
