// Loops that a compiler makes vectors of by itself, inlined into each version of the kernels.
#ifndef TF_NVCODEC_CORE_ROWS_RESAMPLE_LOOPS_H_
#define TF_NVCODEC_CORE_ROWS_RESAMPLE_LOOPS_H_

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {
namespace internal {

template <typename T>
NVC_INLINE_LOOP void ToFloatLoop(const T* __restrict from, int count, float* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <int kRows, typename T>
NVC_INLINE_LOOP void SumLoop(const T* const* from, const float* weights, bool first, int count,
                             float* __restrict sum) {
  const T* __restrict a = from[0];
  const T* __restrict b = kRows > 1 ? from[1] : nullptr;
  const T* __restrict c = kRows > 2 ? from[2] : nullptr;
  const T* __restrict d = kRows > 3 ? from[3] : nullptr;
  const float wa = weights[0], wb = kRows > 1 ? weights[1] : 0;
  const float wc = kRows > 2 ? weights[2] : 0, wd = kRows > 3 ? weights[3] : 0;
  const auto row_sum = [=](int i) __attribute__((always_inline)) {
    float value = wa * static_cast<float>(a[i]);
    if (kRows > 1) value += wb * static_cast<float>(b[i]);
    if (kRows > 2) value += wc * static_cast<float>(c[i]);
    if (kRows > 3) value += wd * static_cast<float>(d[i]);
    return value;
  };
  if (first) {
    for (int i = 0; i < count; ++i) sum[i] = row_sum(i);
  } else {
    for (int i = 0; i < count; ++i) sum[i] += row_sum(i);
  }
}

template <typename T>
NVC_INLINE_LOOP void SumRows(const T* const* from, const float* weights, int rows, bool first,
                             int count, float* sum) {
  switch (rows) {
    case 1:
      return SumLoop<1>(from, weights, first, count, sum);
    case 2:
      return SumLoop<2>(from, weights, first, count, sum);
    case 3:
      return SumLoop<3>(from, weights, first, count, sum);
    default:
      return SumLoop<4>(from, weights, first, count, sum);
  }
}

}  // namespace internal
}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_RESAMPLE_LOOPS_H_
