// The inner loops of bilinear chroma upsampling. Samples are fractions of 2^depth with 15 bits
// after the point. The versions for all instruction sets give the same bits.
#ifndef TF_NVCODEC_CORE_ROWS_CHROMA_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_CHROMA_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

struct ChromaRowKernels {
  // to[i] = from[i] * 2^left / 2^right.
  void (*fractions8)(const uint8_t* from, int left, int count, int16_t* to);
  void (*fractions16)(const uint16_t* from, int left, int right, int count, int16_t* to);
  // to[i] = a[i] + (b[i] - a[i]) * weight / 2^15, the product rounded.
  void (*blend)(const int16_t* a, const int16_t* b, int16_t weight, int count, int16_t* to);
  // to[2 * i] = even[i], to[2 * i + 1] = odd[i].
  void (*zip)(const int16_t* even, const int16_t* odd, int count, uint16_t* to);
};

// Returns the version for the instruction set `simd`, which the processor must support.
const ChromaRowKernels& GetChromaRowKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_CHROMA_ROWS_H_
