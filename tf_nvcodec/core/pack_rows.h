// From float code values to tensor elements: a linear map of up to three components, then
// rounding, interleaving and the element type.
#ifndef TF_NVCODEC_CORE_PACK_ROWS_H_
#define TF_NVCODEC_CORE_PACK_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/frame_format.h"

namespace nvc {

// y = clamp(offset + sum over k of factor[k] * x[k], low, high).
struct LinearMap {
  float factor[3] = {0, 0, 0};
  float offset = 0;
  float low = 0, high = 0;
};

// `inputs` components, 1 to 3, are used.
void MapRow(const LinearMap& map, const float* const x[3], int inputs, int count, float* y);

// to[i * channels + c] = from[c][i]; integers round half up, `shift` moves them left afterwards.
// `from` is in the element's range already.
void PackRow(const float* const from[3], int channels, int count, SampleType type, int shift,
             void* to);

// IEEE 754 binary16 of `value`, round to nearest even.
uint16_t ToHalf(float value);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_PACK_ROWS_H_
