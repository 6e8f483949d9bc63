// The inner loops of resampling. The versions for all instruction sets give the same bits: they add
// in the order written here, without fused multiply-add.
#ifndef TF_NVCODEC_CORE_ROWS_RESAMPLE_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_RESAMPLE_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

constexpr int kMaxSummedRows = 4;

// Loops for samples of type T, uint8_t or uint16_t. Of a row they read only the samples that they
// use: as many as there are taps, from each `start` on.
template <typename T>
struct SampleKernels {
  // to[i] = from[i].
  void (*to_float)(const T* from, int count, float* to);
  // to[i] = from[start[i]].
  void (*pick)(const T* from, const int32_t* start, int count, float* to);
  // to[i] = weights[i] * from[start[i]] + weights[count + i] * from[start[i] + 1].
  void (*dot2)(const T* from, const int32_t* start, const float* weights, int count, float* to);
  // With x = from + start[i] and w[k] = weights[k * count + i]:
  // to[i] = (w[0] * x[0] + w[1] * x[1]) + (w[2] * x[2] + w[3] * x[3]).
  void (*dot4)(const T* from, const int32_t* start, const float* weights, int count, float* to);
  // sum[i] = (first ? 0 : sum[i]) + (weights[0] * from[0][i] + ...), with 1 to kMaxSummedRows
  // rows.
  void (*add_rows)(const T* const* from, const float* weights, int rows, bool first, int count,
                   float* sum);
};

struct ResampleKernels {
  SampleKernels<uint8_t> bytes;
  SampleKernels<uint16_t> words;
  // to[i] = sum over k < taps of weights[i * taps + k] * from[start[i] + k]. `taps` is a multiple
  // of
  // 8. It first makes eight sums s0 to s7, each of every eighth product, and then adds
  // ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)).
  void (*dot8)(const float* from, const int32_t* start, const float* weights, int taps, int count,
               float* to);
  // to[i] = weights[0] * from[0][i] + ..., with 1 to kMaxSummedRows rows.
  void (*blend_rows)(const float* const* from, const float* weights, int rows, int count,
                     float* to);
};

// Returns the version for the instruction set `simd`, which the processor must support.
const ResampleKernels& GetResampleKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_RESAMPLE_ROWS_H_
