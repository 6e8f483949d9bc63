// The AVX2 version of pack_rows.
#include "tf_nvcodec/core/rows/pack_loops.h"
#include "tf_nvcodec/core/rows/pack_rows.h"
#include "tf_nvcodec/core/rows/triples_avx2.h"

#ifdef NVC_HAVE_X86_SIMD

namespace nvc {
namespace {

using internal::AsHalf;
using internal::AsIs;
using internal::PackLoop;
using internal::RoundTo;
using internal::Triples;

NVC_AVX2_INLINE void Store(bool stream, void* to, __m256i value) {
  if (stream) {
    _mm256_stream_si256(static_cast<__m256i*>(to), value);
  } else {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
}

NVC_AVX2_INLINE __m256i Rounded(const float* from) {
  return _mm256_cvttps_epi32(_mm256_add_ps(_mm256_loadu_ps(from), _mm256_set1_ps(0.5f)));
}

// Elements that fill a register, from as many floats.
NVC_AVX2_INLINE __m256i Bytes(const float* from) {
  const __m256i low = _mm256_packs_epi32(Rounded(from), Rounded(from + 8));
  const __m256i high = _mm256_packs_epi32(Rounded(from + 16), Rounded(from + 24));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}
NVC_AVX2_INLINE __m256i Words(const float* from, int shift) {
  const __m256i words = _mm256_packus_epi32(Rounded(from), Rounded(from + 8));
  return _mm256_sll_epi16(_mm256_permute4x64_epi64(words, 0xd8), _mm_cvtsi32_si128(shift));
}
NVC_AVX2_INLINE __m256i Halves(const float* from) {
  return _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(from + 8), _MM_FROUND_TO_NEAREST_INT),
                          _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
NVC_AVX2_INLINE __m256i Longs(const float* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

NVC_AVX2_INLINE void StorePairs(bool stream, __m256i low, __m256i high, uint8_t* to) {
  Store(stream, to, _mm256_permute2x128_si256(low, high, 0x20));
  Store(stream, to + 32, _mm256_permute2x128_si256(low, high, 0x31));
}
NVC_AVX2_INLINE void StoreTriples(bool stream, const Triples& triples, uint8_t* to) {
  for (int k = 0; k < 3; ++k) Store(stream, to + 32 * k, triples.part[k]);
}

NVC_AVX2_INLINE void StoreBytes(bool stream, const __m256i x[3], int channels, uint8_t* to) {
  if (channels == 1) return Store(stream, to, x[0]);
  if (channels == 3) return StoreTriples(stream, internal::ByteTriples(x), to);
  StorePairs(stream, _mm256_unpacklo_epi8(x[0], x[1]), _mm256_unpackhi_epi8(x[0], x[1]), to);
}
NVC_AVX2_INLINE void StoreWords(bool stream, const __m256i x[3], int channels, uint8_t* to) {
  if (channels == 1) return Store(stream, to, x[0]);
  if (channels == 3) return StoreTriples(stream, internal::WordTriples(x), to);
  StorePairs(stream, _mm256_unpacklo_epi16(x[0], x[1]), _mm256_unpackhi_epi16(x[0], x[1]), to);
}
NVC_AVX2_INLINE void StoreLongs(bool stream, const __m256i x[3], int channels, uint8_t* to) {
  if (channels == 1) return Store(stream, to, x[0]);
  if (channels == 3) return StoreTriples(stream, internal::LongTriples(x), to);
  StorePairs(stream, _mm256_unpacklo_epi32(x[0], x[1]), _mm256_unpackhi_epi32(x[0], x[1]), to);
}

NVC_AVX2 void PackBytes(const float* const from[3], int channels, int count, bool stream,
                        uint8_t* to) {
  int i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) x[c] = Bytes(from[c] + i);
    StoreBytes(stream, x, channels, to + channels * i);
  }
  PackLoop(from, channels, i, count, RoundTo{0}, to);
}

NVC_AVX2 void PackWords(const float* const from[3], int channels, int count, int shift, bool stream,
                        uint16_t* to) {
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) x[c] = Words(from[c] + i, shift);
    StoreWords(stream, x, channels, reinterpret_cast<uint8_t*>(to + channels * i));
  }
  PackLoop(from, channels, i, count, RoundTo{shift}, to);
}

NVC_AVX2 void PackHalves(const float* const from[3], int channels, int count, bool stream,
                         uint16_t* to) {
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) x[c] = Halves(from[c] + i);
    StoreWords(stream, x, channels, reinterpret_cast<uint8_t*>(to + channels * i));
  }
  PackLoop(from, channels, i, count, AsHalf{}, to);
}

NVC_AVX2 void PackFloats(const float* const from[3], int channels, int count, bool stream,
                         float* to) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) x[c] = Longs(from[c] + i);
    StoreLongs(stream, x, channels, reinterpret_cast<uint8_t*>(to + channels * i));
  }
  PackLoop(from, channels, i, count, AsIs{}, to);
}

NVC_AVX2 void Map(const LinearMap& map, const float* const x[3], int inputs, int count, float* y) {
  internal::MapAny(map, x, inputs, count, y);
}

void Pack(const float* const from[3], int channels, int count, SampleType type, int shift,
          bool stream, void* to) {
  stream = stream && reinterpret_cast<uintptr_t>(to) % sizeof(__m256i) == 0;
  switch (type) {
    case SampleType::kUint8:
      return PackBytes(from, channels, count, stream, static_cast<uint8_t*>(to));
    case SampleType::kUint16:
      return PackWords(from, channels, count, shift, stream, static_cast<uint16_t*>(to));
    case SampleType::kFloat16:
      return PackHalves(from, channels, count, stream, static_cast<uint16_t*>(to));
    case SampleType::kFloat32:
      return PackFloats(from, channels, count, stream, static_cast<float*>(to));
  }
}

void Fence() { _mm_sfence(); }

NVC_AVX2 void InterleaveBytes(const uint8_t* const from[3], int channels, int count, uint8_t* to) {
  int i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) {
      x[c] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[c] + i));
    }
    StoreBytes(false, x, channels, to + channels * i);
  }
  PackLoop(from, channels, i, count, AsIs{}, to);
}

NVC_AVX2 void InterleaveWords(const uint16_t* const from[3], int channels, int count,
                              uint16_t* to) {
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    __m256i x[3];
    for (int c = 0; c < channels; ++c) {
      x[c] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[c] + i));
    }
    StoreWords(false, x, channels, reinterpret_cast<uint8_t*>(to + channels * i));
  }
  PackLoop(from, channels, i, count, AsIs{}, to);
}

NVC_AVX2 void ScaleWords(const uint16_t* from, int right, int highest, int left, int count,
                         uint16_t* to) {
  internal::ScaleLoop(from, right, highest, left, count, to);
}
NVC_AVX2 void NarrowWords(const uint16_t* from, int right, int count, uint8_t* to) {
  internal::ScaleLoop(from, right, 255, 0, count, to);
}
NVC_AVX2 void WidenBytes(const uint8_t* from, int left, int count, uint16_t* to) {
  internal::ScaleLoop(from, 0, 255, left, count, to);
}

}  // namespace

namespace internal {

const PackKernels& Avx2PackKernels() {
  static const PackKernels kernels = {
      Map, Pack, Fence, InterleaveBytes, InterleaveWords, ScaleWords, NarrowWords, WidenBytes};
  return kernels;
}

}  // namespace internal
}  // namespace nvc

#endif  // NVC_HAVE_X86_SIMD
