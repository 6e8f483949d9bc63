#include "tf_nvcodec/core/rows/rotate_rows.h"

#include <cstring>

namespace nvc {
namespace {

template <size_t kBytes>
void ReverseBy(const uint8_t* from, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) memcpy(to + (count - 1 - i) * kBytes, from + i * kBytes, kBytes);
}

template <size_t kBytes>
void TurnBy(const uint8_t* from, ptrdiff_t from_stride, int first_row, int rows, int first_column,
            int width, uint8_t* to, ptrdiff_t to_stride) {
  for (int x = first_column; x < width; ++x) {
    const uint8_t* column = from + x * kBytes;
    uint8_t* run = to + x * to_stride;
    for (int r = first_row; r < rows; ++r) {
      memcpy(run + r * kBytes, column + r * from_stride, kBytes);
    }
  }
}

void Turn(const uint8_t* from, ptrdiff_t from_stride, int rows, int width, size_t pixel_bytes,
          uint8_t* to, ptrdiff_t to_stride) {
  internal::TurnPixels(from, from_stride, 0, rows, 0, width, pixel_bytes, to, to_stride);
}

}  // namespace

namespace internal {

void ReversePixels(const uint8_t* from, int count, size_t pixel_bytes, uint8_t* to) {
  switch (pixel_bytes) {
    case 1:
      return ReverseBy<1>(from, count, to);
    case 2:
      return ReverseBy<2>(from, count, to);
    case 3:
      return ReverseBy<3>(from, count, to);
    case 4:
      return ReverseBy<4>(from, count, to);
    case 6:
      return ReverseBy<6>(from, count, to);
    default:
      return ReverseBy<12>(from, count, to);
  }
}

void TurnPixels(const uint8_t* from, ptrdiff_t from_stride, int first_row, int rows,
                int first_column, int width, size_t pixel_bytes, uint8_t* to, ptrdiff_t to_stride) {
  switch (pixel_bytes) {
    case 1:
      return TurnBy<1>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 2:
      return TurnBy<2>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 3:
      return TurnBy<3>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 4:
      return TurnBy<4>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    case 6:
      return TurnBy<6>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
    default:
      return TurnBy<12>(from, from_stride, first_row, rows, first_column, width, to, to_stride);
  }
}

}  // namespace internal

const RotateKernels& GetRotateKernels(Simd simd) {
  static const RotateKernels portable = {internal::ReversePixels, Turn};
#ifdef NVC_HAVE_X86_SIMD
  if (simd == Simd::kAvx2) return internal::Avx2RotateKernels();
#endif
  return portable;
}

}  // namespace nvc
