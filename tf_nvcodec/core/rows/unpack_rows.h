// Extracts the samples of one component from rows that pack several components together, or that
// store samples in an unusual byte order or at a shift.
#ifndef TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_

#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// How the samples are stored. A sample has `depth` bits, from bit `shift` of its element on.
// Elements are `step` bytes apart. `swapped` elements are not in the byte order of this machine.
struct Packing {
  int step, shift, depth;
  bool swapped;
};

struct UnpackKernels {
  void (*bytes)(const uint8_t* from, const Packing&, int count, uint8_t* to);
  void (*words)(const uint8_t* from, const Packing&, int count, uint16_t* to);  // 2-byte elements
  void (*longs)(const uint8_t* from, const Packing&, int count, uint16_t* to);  // 4-byte elements
};

// Returns the version for the instruction set `simd`, which the processor must support.
const UnpackKernels& GetUnpackKernels(Simd simd);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_UNPACK_ROWS_H_
