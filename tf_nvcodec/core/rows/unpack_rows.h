// Takes the samples of one component out of rows that pack several, or in odd ways.
#ifndef TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// How samples are stored: `depth` bits from bit `shift` of an element, `step` bytes from one to the
// next; elements of more than a byte in the other byte order when `swapped`.
struct Packing {
  int step, shift, depth;
  bool swapped;
};

struct UnpackKernels {
  void (*bytes)(const uint8_t* from, const Packing&, int count, uint8_t* to);
  void (*words)(const uint8_t* from, const Packing&, int count, uint16_t* to);  // 2-byte elements
  void (*longs)(const uint8_t* from, const Packing&, int count, uint16_t* to);  // 4-byte elements
};

const UnpackKernels& GetUnpackKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_
