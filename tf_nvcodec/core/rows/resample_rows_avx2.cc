// The AVX2 version of resample_rows. Samples are fetched with word and double-word loads, which are
// quicker than gathers and read nothing beyond the taps.
#include <cstring>

#include "tf_nvcodec/core/rows/resample_loops.h"
#include "tf_nvcodec/core/rows/resample_rows.h"

#ifdef NVC_HAVE_X86_SIMD
#include <immintrin.h>

namespace nvc {
namespace {

template <typename Word, typename T>
NVC_AVX2_INLINE Word Get(const T* from) {
  Word word;
  memcpy(&word, from, sizeof(word));
  return word;
}

// Eight samples.
NVC_AVX2_INLINE __m256 Fetch1(const uint8_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi32_si128(from[start[0]]);
  x = _mm_insert_epi8(x, from[start[1]], 1);
  x = _mm_insert_epi8(x, from[start[2]], 2);
  x = _mm_insert_epi8(x, from[start[3]], 3);
  __m128i y = _mm_cvtsi32_si128(from[start[4]]);
  y = _mm_insert_epi8(y, from[start[5]], 1);
  y = _mm_insert_epi8(y, from[start[6]], 2);
  y = _mm_insert_epi8(y, from[start[7]], 3);
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpacklo_epi32(x, y)));
}
NVC_AVX2_INLINE __m256 Fetch1(const uint16_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi32_si128(from[start[0]]);
  x = _mm_insert_epi16(x, from[start[1]], 1);
  x = _mm_insert_epi16(x, from[start[2]], 2);
  x = _mm_insert_epi16(x, from[start[3]], 3);
  __m128i y = _mm_cvtsi32_si128(from[start[4]]);
  y = _mm_insert_epi16(y, from[start[5]], 1);
  y = _mm_insert_epi16(y, from[start[6]], 2);
  y = _mm_insert_epi16(y, from[start[7]], 3);
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_unpacklo_epi64(x, y)));
}

struct Pair {
  __m256 first, second;
};

// Eight samples and the ones after them.
NVC_AVX2_INLINE Pair Fetch2(const uint8_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi32_si128(Get<uint16_t>(from + start[0]));
  x = _mm_insert_epi16(x, Get<uint16_t>(from + start[1]), 1);
  x = _mm_insert_epi16(x, Get<uint16_t>(from + start[2]), 2);
  x = _mm_insert_epi16(x, Get<uint16_t>(from + start[3]), 3);
  __m128i y = _mm_cvtsi32_si128(Get<uint16_t>(from + start[4]));
  y = _mm_insert_epi16(y, Get<uint16_t>(from + start[5]), 1);
  y = _mm_insert_epi16(y, Get<uint16_t>(from + start[6]), 2);
  y = _mm_insert_epi16(y, Get<uint16_t>(from + start[7]), 3);
  const __m256i pairs = _mm256_cvtepu16_epi32(_mm_unpacklo_epi64(x, y));
  return {_mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(0xff))),
          _mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 8))};
}
NVC_AVX2_INLINE Pair Fetch2(const uint16_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi32_si128(Get<int32_t>(from + start[0]));
  x = _mm_insert_epi32(x, Get<int32_t>(from + start[1]), 1);
  x = _mm_insert_epi32(x, Get<int32_t>(from + start[2]), 2);
  x = _mm_insert_epi32(x, Get<int32_t>(from + start[3]), 3);
  __m128i y = _mm_cvtsi32_si128(Get<int32_t>(from + start[4]));
  y = _mm_insert_epi32(y, Get<int32_t>(from + start[5]), 1);
  y = _mm_insert_epi32(y, Get<int32_t>(from + start[6]), 2);
  y = _mm_insert_epi32(y, Get<int32_t>(from + start[7]), 3);
  const __m256i pairs = _mm256_inserti128_si256(_mm256_castsi128_si256(x), y, 1);
  return {_mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(0xffff))),
          _mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 16))};
}

// Four samples for each of two outputs.
NVC_AVX2_INLINE __m256 Fetch4(const uint8_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi32_si128(Get<int32_t>(from + start[0]));
  x = _mm_insert_epi32(x, Get<int32_t>(from + start[1]), 1);
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x));
}
NVC_AVX2_INLINE __m256 Fetch4(const uint16_t* from, const int32_t* start) {
  __m128i x = _mm_cvtsi64_si128(Get<int64_t>(from + start[0]));
  x = _mm_insert_epi64(x, Get<int64_t>(from + start[1]), 1);
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(x));
}

template <typename T>
NVC_AVX2 void ToFloat(const T* from, int count, float* to) {
  internal::ToFloatLoop(from, count, to);
}

template <typename T>
NVC_AVX2 void Pick(const T* from, const int32_t* start, int count, float* to) {
  int i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, Fetch1(from, start + i));
  for (; i < count; ++i) to[i] = static_cast<float>(from[start[i]]);
}

template <typename T>
NVC_AVX2 void Dot2(const T* from, const int32_t* start, const float* weights, int count,
                   float* to) {
  const float* more_weights = weights + count;
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    const Pair x = Fetch2(from, start + i);
    _mm256_storeu_ps(to + i,
                     _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(weights + i), x.first),
                                   _mm256_mul_ps(_mm256_loadu_ps(more_weights + i), x.second)));
  }
  for (; i < count; ++i) {
    const T* x = from + start[i];
    to[i] = weights[i] * static_cast<float>(x[0]) + more_weights[i] * static_cast<float>(x[1]);
  }
}

template <typename T>
NVC_AVX2 void Dot4(const T* from, const int32_t* start, const float* weights, int count,
                   float* to) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    const float* w = weights + 4 * static_cast<int64_t>(i);
    const __m256 a = _mm256_mul_ps(_mm256_loadu_ps(w), Fetch4(from, start + i));
    const __m256 b = _mm256_mul_ps(_mm256_loadu_ps(w + 8), Fetch4(from, start + i + 2));
    const __m256 c = _mm256_mul_ps(_mm256_loadu_ps(w + 16), Fetch4(from, start + i + 4));
    const __m256 d = _mm256_mul_ps(_mm256_loadu_ps(w + 24), Fetch4(from, start + i + 6));
    // Outputs 0, 2, 4, 6 in the lower lane.
    const __m256 sums = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm256_storeu_ps(to + i, _mm256_permutevar8x32_ps(sums, order));
  }
  for (; i < count; ++i) {
    const T* x = from + start[i];
    const float* w = weights + 4 * static_cast<int64_t>(i);
    to[i] = (w[0] * static_cast<float>(x[0]) + w[1] * static_cast<float>(x[1])) +
            (w[2] * static_cast<float>(x[2]) + w[3] * static_cast<float>(x[3]));
  }
}

template <typename T>
NVC_AVX2 void AddRows(const T* const* from, const float* weights, int rows, bool first, int count,
                      float* sum) {
  internal::SumRows(from, weights, rows, first, count, sum);
}

// Four sums of two products each.
NVC_AVX2_INLINE __m128 EightProducts(const float* x, const float* w, int taps) {
  __m256 sum = _mm256_mul_ps(_mm256_loadu_ps(w), _mm256_loadu_ps(x));
  for (int k = 8; k < taps; k += 8) {
    sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(w + k), _mm256_loadu_ps(x + k)));
  }
  return _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
}

NVC_AVX2 void Dot8(const float* from, const int32_t* start, const float* weights, int taps,
                   int count, float* to) {
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    const float* w = weights + static_cast<int64_t>(i) * taps;
    const __m128 a = EightProducts(from + start[i], w, taps);
    const __m128 b = EightProducts(from + start[i + 1], w + taps, taps);
    const __m128 c = EightProducts(from + start[i + 2], w + 2 * taps, taps);
    const __m128 d = EightProducts(from + start[i + 3], w + 3 * taps, taps);
    _mm_storeu_ps(to + i, _mm_hadd_ps(_mm_hadd_ps(a, b), _mm_hadd_ps(c, d)));
  }
  for (; i < count; ++i) {
    __m128 a = EightProducts(from + start[i], weights + static_cast<int64_t>(i) * taps, taps);
    a = _mm_hadd_ps(a, a);
    to[i] = _mm_cvtss_f32(_mm_hadd_ps(a, a));
  }
}

NVC_AVX2 void BlendRows(const float* const* from, const float* weights, int rows, int count,
                        float* to) {
  internal::SumRows(from, weights, rows, /*first=*/true, count, to);
}

}  // namespace

namespace internal {

const ResampleKernels& Avx2ResampleKernels() {
  static const ResampleKernels kernels = {
      {ToFloat<uint8_t>, Pick<uint8_t>, Dot2<uint8_t>, Dot4<uint8_t>, AddRows<uint8_t>},
      {ToFloat<uint16_t>, Pick<uint16_t>, Dot2<uint16_t>, Dot4<uint16_t>, AddRows<uint16_t>},
      Dot8,
      BlendRows};
  return kernels;
}

}  // namespace internal
}  // namespace nvc

#endif  // NVC_HAVE_X86_SIMD
