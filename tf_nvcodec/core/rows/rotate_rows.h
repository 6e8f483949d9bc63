// Moves rows of pixels to where a rotated picture has them.
#ifndef TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_
#define TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "tf_nvcodec/core/rows/simd.h"

namespace nvc {

// Pixels are 1, 2, 3, 4, 6 or 12 bytes.
struct RotateKernels {
  // Pixel i of `to` is pixel count - 1 - i of `from`.
  void (*reverse)(const uint8_t* from, int count, size_t pixel_bytes, uint8_t* to);
  // Column x of the source's `rows` rows becomes a run of `rows` pixels at to + x * to_stride.
  // Strides are in bytes and may be negative. Source rows are readable for kTurnSlack bytes more.
  void (*turn)(const uint8_t* from, ptrdiff_t from_stride, int rows, int width, size_t pixel_bytes,
               uint8_t* to, ptrdiff_t to_stride);
};
constexpr int kTurnSlack = 32;

const RotateKernels& GetRotateKernels(Simd simd);
}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ROWS_ROTATE_ROWS_H_
