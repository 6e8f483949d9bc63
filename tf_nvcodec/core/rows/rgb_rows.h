// One row at a time: R'G'B' samples to Y'CbCr or to another depth. Every version gives the same
// bits.
#ifndef TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// Out = sum of weight * channel + offset, rounded half up and clipped to [0, max].
struct FloatWeights {
  float weight[3];
  float offset;
  float max;
};

// The same for 8-bit rows, in 16-bit fixed point; accurate to 0.03 before rounding.
// Luma = (sum of (256 * channel * weight >> 16) + offset) >> 8.
struct FixedLuma {
  uint16_t weight[3];
  uint16_t offset;
};
// Chroma has one channel that counts up and two that count down, scaled to 32640 for white:
// (offset + (up * weight >> 16) - (down * weight >> 16) - (down * weight >> 16)) >> 7.
struct FixedChroma {
  int up, down[2];  // channel numbers
  uint16_t up_weight, down_weight[2];
  uint16_t offset;
};

struct RgbRowKernels {
  // Interleaved pixels to planes. The 8-bit one keeps bytes; the others give floats, samples as
  // they are (no scaling). half is IEEE 754 binary16, by its bits.
  void (*split8)(const uint8_t* pixels, int width, uint8_t* const planes[3]);
  void (*widen8)(const uint8_t* samples, int channels, int width, float* const planes[3]);
  void (*widen16)(const uint16_t* samples, int channels, int width, float* const planes[3]);
  // These two return false when a sample is not in [-1, 2], NaN included.
  bool (*widen_half)(const uint16_t* samples, int channels, int width, float* const planes[3]);
  bool (*widen_float)(const float* samples, int channels, int width, float* const planes[3]);

  void (*luma8)(const FixedLuma& luma, const uint8_t* const planes[3], int width, uint8_t* out);
  // Sums the block of each chroma sample: one or two columns (`halve`) of two rows, scaled to
  // 32640 for white. `width` counts output samples.
  void (*block8)(const uint8_t* top, const uint8_t* bottom, int width, bool halve, uint16_t* out);
  void (*chroma8)(const FixedChroma& chroma, const uint16_t* const planes[3], int width,
                  uint8_t* out);

  // The mean of the same blocks.
  void (*block)(const float* top, const float* bottom, int width, bool halve, float* out);
  void (*weigh_to8)(const FloatWeights& weights, const float* const planes[3], int width,
                    uint8_t* out);
  void (*weigh_to16)(const FloatWeights& weights, const float* const planes[3], int width,
                     uint16_t* out);
  // weight[0] alone, on one plane.
  void (*scale_to8)(const FloatWeights& weights, const float* plane, int width, uint8_t* out);
  void (*scale_to16)(const FloatWeights& weights, const float* plane, int width, uint16_t* out);
};

const RgbRowKernels& RgbRows(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_
