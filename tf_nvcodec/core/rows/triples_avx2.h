// Three registers of one colour each to three registers of colour triples.
//
// In a group of n elements, n prime to 3, each colour is permuted so that its elements stand where
// they go in some register of triples: element i takes pixel (i - c) / 3 mod n for colour c.
// Blending every third element of the three then makes each register.
#ifndef TF_NVCODEC_CORE_ROWS_TRIPLES_AVX2_H_
#define TF_NVCODEC_CORE_ROWS_TRIPLES_AVX2_H_

#include "tf_nvcodec/core/rows/simd.h"

#ifdef NVC_HAVE_X86_SIMD
#include <immintrin.h>

namespace nvc {
namespace internal {

struct Triples {
  __m256i part[3];
};

// Each register has the triples of a lane's own pixels; puts them in order.
NVC_AVX2_INLINE Triples JoinLanes(__m256i p0, __m256i p1, __m256i p2) {
  return {{_mm256_permute2x128_si256(p0, p1, 0x20), _mm256_blend_epi32(p2, p0, 0xf0),
           _mm256_permute2x128_si256(p1, p2, 0x31)}};
}

// 32 pixels of bytes.
NVC_AVX2_INLINE Triples ByteTriples(const __m256i colors[3]) {
  const __m256i order0 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5));
  const __m256i order1 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10));
  const __m256i order2 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15));
  const __m256i at1 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
  const __m256i at2 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
  const __m256i a = _mm256_shuffle_epi8(colors[0], order0);
  const __m256i b = _mm256_shuffle_epi8(colors[1], order1);
  const __m256i c = _mm256_shuffle_epi8(colors[2], order2);
  return JoinLanes(_mm256_blendv_epi8(_mm256_blendv_epi8(a, b, at1), c, at2),
                   _mm256_blendv_epi8(_mm256_blendv_epi8(b, c, at1), a, at2),
                   _mm256_blendv_epi8(_mm256_blendv_epi8(c, a, at1), b, at2));
}

// Elements 1, 4 and 7, and 2 and 5, of eight.
constexpr int kAt1 = 0x92, kAt2 = 0x24;

// 16 pixels of words.
NVC_AVX2_INLINE Triples WordTriples(const __m256i colors[3]) {
  const __m256i order0 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5, 10, 11));
  const __m256i order1 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(10, 11, 0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5));
  const __m256i order2 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(4, 5, 10, 11, 0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15));
  const __m256i a = _mm256_shuffle_epi8(colors[0], order0);
  const __m256i b = _mm256_shuffle_epi8(colors[1], order1);
  const __m256i c = _mm256_shuffle_epi8(colors[2], order2);
  return JoinLanes(_mm256_blend_epi16(_mm256_blend_epi16(a, b, kAt1), c, kAt2),
                   _mm256_blend_epi16(_mm256_blend_epi16(c, a, kAt1), b, kAt2),
                   _mm256_blend_epi16(_mm256_blend_epi16(b, c, kAt1), a, kAt2));
}

// 8 pixels of double words.
NVC_AVX2_INLINE Triples LongTriples(const __m256i colors[3]) {
  const __m256i a =
      _mm256_permutevar8x32_epi32(colors[0], _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
  const __m256i b =
      _mm256_permutevar8x32_epi32(colors[1], _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
  const __m256i c =
      _mm256_permutevar8x32_epi32(colors[2], _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
  return {{_mm256_blend_epi32(_mm256_blend_epi32(a, b, kAt1), c, kAt2),
           _mm256_blend_epi32(_mm256_blend_epi32(c, a, kAt1), b, kAt2),
           _mm256_blend_epi32(_mm256_blend_epi32(b, c, kAt1), a, kAt2)}};
}

}  // namespace internal
}  // namespace nvc

#endif  // NVC_HAVE_X86_SIMD

#endif  // TF_NVCODEC_CORE_ROWS_TRIPLES_AVX2_H_
