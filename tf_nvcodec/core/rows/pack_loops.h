// Loops that a compiler makes vectors of by itself, inlined into each version of the kernels.
#ifndef TF_NVCODEC_CORE_ROWS_PACK_LOOPS_H_
#define TF_NVCODEC_CORE_ROWS_PACK_LOOPS_H_

#include "tf_nvcodec/core/rows/pack_rows.h"

namespace nvc {
namespace internal {

template <int kInputs>
NVC_INLINE_LOOP void MapLoop(const LinearMap& map, const float* const x[3], int count,
                             float* __restrict y) {
  const float* __restrict x0 = x[0];
  const float* __restrict x1 = kInputs > 1 ? x[1] : nullptr;
  const float* __restrict x2 = kInputs > 2 ? x[2] : nullptr;
  const float f0 = map.factor[0], f1 = map.factor[1], f2 = map.factor[2];
  const float offset = map.offset, low = map.low, high = map.high;
  for (int i = 0; i < count; ++i) {
    float sum = offset + f0 * x0[i];
    if (kInputs > 1) sum += f1 * x1[i];
    if (kInputs > 2) sum += f2 * x2[i];
    sum = sum < low ? low : sum;
    y[i] = sum > high ? high : sum;
  }
}

NVC_INLINE_LOOP void MapAny(const LinearMap& map, const float* const x[3], int inputs, int count,
                            float* y) {
  switch (inputs) {
    case 1:
      return MapLoop<1>(map, x, count, y);
    case 2:
      return MapLoop<2>(map, x, count, y);
    default:
      return MapLoop<3>(map, x, count, y);
  }
}

struct RoundTo {
  int shift;
  template <typename T>
  NVC_INLINE_LOOP void operator()(float value, T* to) const {
    *to = static_cast<T>(static_cast<int>(value + 0.5f) << shift);
  }
};
struct AsHalf {
  NVC_INLINE_LOOP void operator()(float value, uint16_t* to) const { *to = ToHalf(value); }
};
struct AsIs {
  template <typename T>
  NVC_INLINE_LOOP void operator()(T value, T* to) const {
    *to = value;
  }
};

template <typename Source, typename T>
NVC_INLINE_LOOP void ScaleLoop(const Source* __restrict from, int right, int highest, int left,
                               int count, T* __restrict to) {
  const int half = (1 << right) >> 1;
  for (int i = 0; i < count; ++i) {
    const int rounded = (from[i] + half) >> right;
    to[i] = static_cast<T>((rounded > highest ? highest : rounded) << left);
  }
}

// Samples [begin, count) of each channel.
template <typename T, typename Source, typename Convert>
NVC_INLINE_LOOP void PackLoop(const Source* const from[3], int channels, int begin, int count,
                              Convert convert, T* to) {
  for (int c = 0; c < channels; ++c) {
    const Source* row = from[c];
    for (int i = begin; i < count; ++i) convert(row[i], to + channels * i + c);
  }
}

}  // namespace internal
}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_PACK_LOOPS_H_
