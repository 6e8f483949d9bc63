// The AVX2 version of rotate_rows: blocks of 8 by 8 pixels of 1 and 3 bytes. Pixels of 3 bytes are
// widened to 4 on the way.
#include <cstring>

#include "tf_nvcodec/core/rows/rotate_rows.h"

#ifdef NVC_HAVE_X86_SIMD
#include <immintrin.h>

namespace nvc {
namespace {

constexpr int kBlock = 8;

NVC_AVX2_INLINE __m128i Load16(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
NVC_AVX2_INLINE void Store16(uint8_t* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

NVC_AVX2_INLINE void TurnBlock1(const uint8_t* from, ptrdiff_t from_stride, uint8_t* to,
                                ptrdiff_t to_stride) {
  __m128i rows[4];
  for (int r = 0; r < 4; ++r) {
    const auto row = [&](int i) __attribute__((always_inline, target("avx2,f16c"))) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i * from_stride));
    };
    rows[r] = _mm_unpacklo_epi8(row(2 * r), row(2 * r + 1));
  }
  const __m128i a = _mm_unpacklo_epi16(rows[0], rows[1]), b = _mm_unpackhi_epi16(rows[0], rows[1]);
  const __m128i c = _mm_unpacklo_epi16(rows[2], rows[3]), d = _mm_unpackhi_epi16(rows[2], rows[3]);
  const __m128i columns[4] = {_mm_unpacklo_epi32(a, c), _mm_unpackhi_epi32(a, c),
                              _mm_unpacklo_epi32(b, d), _mm_unpackhi_epi32(b, d)};
  for (int k = 0; k < 4; ++k) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 2 * k * to_stride), columns[k]);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + (2 * k + 1) * to_stride),
                     _mm_unpackhi_epi64(columns[k], columns[k]));
  }
}

// Writes 24 bytes from the low 12 of each lane.
NVC_AVX2_INLINE void Store24(uint8_t* to, __m256i value) {
  Store16(to, _mm256_castsi256_si128(value));
  const __m128i high = _mm256_extracti128_si256(value, 1);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 12), high);
  const int last = _mm_extract_epi32(high, 2);
  memcpy(to + 20, &last, sizeof(last));
}

NVC_AVX2_INLINE void TurnBlock3(const uint8_t* from, ptrdiff_t from_stride, uint8_t* to,
                                ptrdiff_t to_stride) {
  const __m256i widen = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
  const __m256i narrow = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  __m256i rows[8];
  for (int r = 0; r < 8; ++r) {
    const uint8_t* row = from + r * from_stride;
    rows[r] = _mm256_shuffle_epi8(_mm256_set_m128i(Load16(row + 12), Load16(row)), widen);
  }
  __m256i pairs[8];
  for (int r = 0; r < 8; r += 2) {
    pairs[r] = _mm256_unpacklo_epi32(rows[r], rows[r + 1]);
    pairs[r + 1] = _mm256_unpackhi_epi32(rows[r], rows[r + 1]);
  }
  // quads[4 * h + k]: column k in the low lane and k + 4 in the high one, of rows 4h to 4h + 3.
  __m256i quads[8];
  for (int h = 0; h < 2; ++h) {
    const __m256i* p = pairs + 4 * h;
    quads[4 * h] = _mm256_unpacklo_epi64(p[0], p[2]);
    quads[4 * h + 1] = _mm256_unpackhi_epi64(p[0], p[2]);
    quads[4 * h + 2] = _mm256_unpacklo_epi64(p[1], p[3]);
    quads[4 * h + 3] = _mm256_unpackhi_epi64(p[1], p[3]);
  }
  for (int k = 0; k < 4; ++k) {
    const __m256i low = _mm256_permute2x128_si256(quads[k], quads[4 + k], 0x20);
    const __m256i high = _mm256_permute2x128_si256(quads[k], quads[4 + k], 0x31);
    Store24(to + k * to_stride, _mm256_shuffle_epi8(low, narrow));
    Store24(to + (k + 4) * to_stride, _mm256_shuffle_epi8(high, narrow));
  }
}

NVC_AVX2 void Turn(const uint8_t* from, ptrdiff_t from_stride, int rows, int width,
                   size_t pixel_bytes, uint8_t* to, ptrdiff_t to_stride) {
  const bool blocks = pixel_bytes == 1 || pixel_bytes == 3;
  const int block_rows = blocks ? rows / kBlock * kBlock : 0;
  const int block_columns = blocks ? width / kBlock * kBlock : 0;
  for (int x = 0; x < block_columns; x += kBlock) {
    for (int r = 0; r < block_rows; r += kBlock) {
      const uint8_t* block = from + r * from_stride + x * static_cast<ptrdiff_t>(pixel_bytes);
      uint8_t* run = to + x * to_stride + r * static_cast<ptrdiff_t>(pixel_bytes);
      if (pixel_bytes == 1) {
        TurnBlock1(block, from_stride, run, to_stride);
      } else {
        TurnBlock3(block, from_stride, run, to_stride);
      }
    }
  }
  internal::TurnPixels(from, from_stride, 0, block_rows, block_columns, width, pixel_bytes, to,
                       to_stride);
  internal::TurnPixels(from, from_stride, block_rows, rows, 0, width, pixel_bytes, to, to_stride);
}

NVC_AVX2 void Reverse(const uint8_t* from, int count, size_t pixel_bytes, uint8_t* to) {
  int i = 0;
  if (pixel_bytes == 1) {
    const __m128i order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (; i + 16 <= count; i += 16) {
      Store16(to + count - 16 - i, _mm_shuffle_epi8(Load16(from + i), order));
    }
  } else if (pixel_bytes == 3) {
    // Five pixels and a byte that the next ones write over.
    const __m128i order = _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
    for (; i + 6 <= count; i += 5) {
      Store16(to + 3 * (count - i) - 16, _mm_shuffle_epi8(Load16(from + 3 * i), order));
    }
  }
  internal::ReversePixels(from + i * pixel_bytes, count - i, pixel_bytes, to);
}

}  // namespace

namespace internal {

const RotateKernels& Avx2RotateKernels() {
  static const RotateKernels kernels = {Reverse, Turn};
  return kernels;
}

}  // namespace internal
}  // namespace nvc

#endif  // NVC_HAVE_X86_SIMD
