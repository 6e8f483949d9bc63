// From float code values to tensor elements: a linear map of up to three components, then
// rounding, interleaving and the element type. Every version gives the same bits.
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
  // One row y from the rows of `inputs` components, 1 to 3.
  void (*map)(const LinearMap&, const float* const x[3], int inputs, int count, float* y);
  // to[i * channels + c] = from[c][i], channels 1 to 3. Integers round half up and are then moved
  // left by `shift`; half floats round to nearest even. `from` is in the element's range already.
  // `stream` lets the row bypass the caches where it is aligned; then call `fence` before another
  // thread may read it.
  void (*pack)(const float* const from[3], int channels, int count, SampleType type, int shift,
               bool stream, void* to);
  void (*fence)();
  // to[i * channels + c] = from[c][i].
  void (*interleave_bytes)(const uint8_t* const from[3], int channels, int count, uint8_t* to);
  void (*interleave_words)(const uint16_t* const from[3], int channels, int count, uint16_t* to);
  // to[i] = min(round_half_up(from[i] / 2^right), highest) * 2^left.
  void (*scale_words)(const uint16_t* from, int right, int highest, int left, int count,
                      uint16_t* to);
  void (*narrow_words)(const uint16_t* from, int right, int count, uint8_t* to);  // highest 255
  void (*widen_bytes)(const uint8_t* from, int left, int count, uint16_t* to);
};

const PackKernels& GetPackKernels(Simd simd);

// IEEE 754 binary16 of `value`, round to nearest even.
uint16_t ToHalf(float value);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_PACK_ROWS_H_
