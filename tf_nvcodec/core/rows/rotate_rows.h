// The inner loops of quarter turns and mirrors: they reverse rows of pixels, or turn rows into
// columns.
#ifndef TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// A pixel has 1, 2, 3, 4, 6 or 12 bytes.
struct RotateKernels {
  // Pixel i of `to` is pixel count - 1 - i of `from`.
  void (*reverse)(const uint8_t* from, int count, size_t pixel_bytes, uint8_t* to);
  // Column x of `rows` source rows becomes a run of `rows` pixels at to + x * to_stride. Strides
  // are in bytes and may be negative. kTurnSlack bytes after each source row must be readable,
  // because loads of whole vectors reach behind the row.
  void (*turn)(const uint8_t* from, ptrdiff_t from_stride, int rows, int width, size_t pixel_bytes,
               uint8_t* to, ptrdiff_t to_stride);
};
constexpr int kTurnSlack = 32;

// Returns the version for the instruction set `simd`, which the processor must support.
const RotateKernels& GetRotateKernels(Simd simd);
}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_
