// The inner loops that convert rows of R'G'B' samples to Y'CbCr or to another bit depth. The
// versions for all instruction sets give the same bits.
#ifndef TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// out = the sum of weight * channel, plus offset, rounded half up and clipped to [0, max].
struct FloatWeights {
  float weight[3];
  float offset;
  float max;
};

// The same for the luma of 8-bit rows, in 16-bit fixed point. It is accurate to 0.03 before
// rounding. luma = (sum of (256 * channel * weight >> 16) + offset) >> 8.
struct FixedLuma {
  uint16_t weight[3];
  uint16_t offset;
};
// And for chroma. One channel adds to it and two subtract from it. Channels are scaled so that
// white is 32640. chroma = (offset + (up * up_weight >> 16) - (down[0] * down_weight[0] >> 16) -
// (down[1] * down_weight[1] >> 16)) >> 7.
struct FixedChroma {
  int up, down[2];  // channel numbers
  uint16_t up_weight, down_weight[2];
  uint16_t offset;
};

struct RgbRowKernels {
  // These split interleaved pixels into planes. split8 keeps bytes. The others make floats of the
  // samples without scaling them. Halves are the bits of IEEE 754 binary16.
  void (*split8)(const uint8_t* pixels, int width, uint8_t* const planes[3]);
  void (*widen8)(const uint8_t* samples, int channels, int width, float* const planes[3]);
  void (*widen16)(const uint16_t* samples, int channels, int width, float* const planes[3]);
  // These two return false when a sample is NaN or outside [-1, 2].
  bool (*widen_half)(const uint16_t* samples, int channels, int width, float* const planes[3]);
  bool (*widen_float)(const float* samples, int channels, int width, float* const planes[3]);

  void (*luma8)(const FixedLuma& luma, const uint8_t* const planes[3], int width, uint8_t* out);
  // Sums the block of pixels that each chroma sample covers: one column of two rows, or two columns
  // with `halve`. The sums are scaled so that white is 32640. `width` counts output samples.
  void (*block8)(const uint8_t* top, const uint8_t* bottom, int width, bool halve, uint16_t* out);
  void (*chroma8)(const FixedChroma& chroma, const uint16_t* const planes[3], int width,
                  uint8_t* out);

  // Computes the mean of the same blocks.
  void (*block)(const float* top, const float* bottom, int width, bool halve, float* out);
  void (*weigh_to8)(const FloatWeights& weights, const float* const planes[3], int width,
                    uint8_t* out);
  void (*weigh_to16)(const FloatWeights& weights, const float* const planes[3], int width,
                     uint16_t* out);
  // The same for one plane, with weight[0] only.
  void (*scale_to8)(const FloatWeights& weights, const float* plane, int width, uint8_t* out);
  void (*scale_to16)(const FloatWeights& weights, const float* plane, int width, uint16_t* out);
};

// Returns the version for the instruction set `simd`, which the processor must support.
const RgbRowKernels& GetRgbRowKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_RGB_ROWS_H_
