// Rows of Y'CbCr to rows of 8-bit R'G'B' in 16-bit fixed point: the path of frames that are not
// resized.
//
// Samples are taken as fractions of 2^depth with 15 bits, multiplied by factors with 13 bits and
// summed with 5 bits after the point, so that each of at most three products is off by at most
// 1/64 before the one rounding to an integer: the result is within 1 of the exact one. Every
// version gives the same bits.
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
  // Code values become 15-bit fractions by a shift to the left or, for 16 bits, to the right.
  int left, right;
};
YuvRgbFactors MakeYuvRgbFactors(const YuvToRgb& yuv_to_rgb, int depth);

// What chroma adds to the red, green and blue of a row of pixels; shared by the rows that share
// their chroma. The order of elements is the kernels' own.
class ChromaTerms {
 public:
  // Those of a row without chroma.
  explicit ChromaTerms(int width);
  int16_t* red() { return terms_.data(); }
  int16_t* green() { return terms_.data() + stride_; }
  int16_t* blue() { return terms_.data() + 2 * stride_; }
  const int16_t* red() const { return terms_.data(); }
  const int16_t* green() const { return terms_.data() + stride_; }
  const int16_t* blue() const { return terms_.data() + 2 * stride_; }

  static constexpr int kBlock = 32;  // widths are rounded up to whole blocks
  // Every term includes half an integer, so that sums round to the nearest.
  static constexpr int16_t kHalf = 1 << 4;

 private:
  size_t stride_;
  std::vector<int16_t> terms_;
};

struct YuvRgbKernels {
  // Terms of `count` pixels from count >> log2 (rounded up) chroma samples, log2 0 or 1.
  void (*chroma8)(const YuvRgbFactors&, const uint8_t* cb, const uint8_t* cr, int log2, int count,
                  ChromaTerms* terms);
  void (*chroma16)(const YuvRgbFactors&, const uint16_t* cb, const uint16_t* cr, int log2,
                   int count, ChromaTerms* terms);
  // `stream` lets the rows bypass the caches where they are aligned; then call `fence` before
  // another thread may read them.
  // `count` pixels to the planes red, green and blue.
  void (*planar8)(const YuvRgbFactors&, const uint8_t* luma, const ChromaTerms&, int count,
                  bool stream, uint8_t* const rgb[3]);
  void (*planar16)(const YuvRgbFactors&, const uint16_t* luma, const ChromaTerms&, int count,
                   bool stream, uint8_t* const rgb[3]);
  // `count` pixels as R, G, B triples, or B, G, R.
  void (*packed8)(const YuvRgbFactors&, const uint8_t* luma, const ChromaTerms&, int count,
                  bool bgr, bool stream, uint8_t* to);
  void (*packed16)(const YuvRgbFactors&, const uint16_t* luma, const ChromaTerms&, int count,
                   bool bgr, bool stream, uint8_t* to);
  // Luma alone, stretched to 0..255.
  void (*gray8)(const YuvRgbFactors&, const uint8_t* luma, int count, uint8_t* to);
  void (*gray16)(const YuvRgbFactors&, const uint16_t* luma, int count, uint8_t* to);
  void (*fence)();
};

const YuvRgbKernels& GetYuvRgbKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_YUV_RGB_ROWS_H_
