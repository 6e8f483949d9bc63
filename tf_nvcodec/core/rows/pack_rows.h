// The inner loops that turn float code values into tensor elements. They apply a linear map to up
// to three components, then round, interleave and convert to the element type. The versions for all
// instruction sets give the same bits.
#ifndef TF_NVCODEC_CORE_ROWS_PACK_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_PACK_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// y = clamp(((offset + factor[0] * x[0]) + factor[1] * x[1]) + factor[2] * x[2], low, high).
struct LinearMap {
  float factor[3] = {0, 0, 0};
  float offset = 0;
  float low = 0, high = 0;
};

struct PackKernels {
  // Computes one row y from the rows x of `inputs` components, 1 to 3.
  void (*map)(const LinearMap&, const float* const x[3], int inputs, int count, float* y);
  // to[i * channels + c] = from[c][i], with 1 to 3 channels. `from` must be within the element's
  // range. Integers are rounded half up and then shifted left by `shift`; half floats are rounded
  // to nearest even. With `stream`, an aligned row bypasses the caches. Call `fence` before another
  // thread reads it.
  void (*pack)(const float* const from[3], int channels, int count, SampleType type, int shift,
               bool stream, void* to);
  void (*fence)();
  // to[i * channels + c] = from[c][i].
  void (*interleave_bytes)(const uint8_t* const from[3], int channels, int count, uint8_t* to);
  void (*interleave_words)(const uint16_t* const from[3], int channels, int count, uint16_t* to);
  // The reverse, for one component: take samples from elements that are `step` bytes apart. Words
  // have a sample of `depth` bits from bit `shift` on, and any address.
  void (*gather_bytes)(const uint8_t* from, int step, int count, uint8_t* to);
  void (*gather_words)(const uint8_t* from, int step, int shift, int depth, int count,
                       uint16_t* to);
  // to[i] = min(round_half_up(from[i] / 2^right), highest) * 2^left.
  void (*scale_words)(const uint16_t* from, int right, int highest, int left, int count,
                      uint16_t* to);
  void (*narrow_words)(const uint16_t* from, int right, int count,
                       uint8_t* to);  // with highest = 255, left = 0
  void (*widen_bytes)(const uint8_t* from, int left, int count, uint16_t* to);
};

// Returns the version for the instruction set `simd`, which the processor must support.
const PackKernels& GetPackKernels(Simd simd);

// Returns the bits of `value` as an IEEE 754 binary16, rounded to nearest even.
uint16_t ToHalf(float value);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_PACK_ROWS_H_
