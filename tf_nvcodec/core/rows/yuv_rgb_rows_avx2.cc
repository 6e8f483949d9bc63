// The AVX2 version of yuv_rgb_rows. Pixels are taken 32 at a time; unpacking bytes to words within
// 128-bit lanes splits them into pixels 0-7 and 16-23, and 8-15 and 24-31. ChromaTerms keeps them
// in that order, and packing words to bytes undoes it.
#include <cstring>

#include "tf_nvcodec/core/rows/triples_avx2.h"
#include "tf_nvcodec/core/rows/yuv_rgb_rows.h"

#ifdef NVC_HAVE_X86_SIMD

namespace nvc {
namespace {

constexpr int kStep = 32;

struct Words {
  __m256i low, high;
};

NVC_AVX2_INLINE __m256i Load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
template <bool kStream = false>
NVC_AVX2_INLINE void Store(void* to, __m256i value) {
  if (kStream) {
    _mm256_stream_si256(static_cast<__m256i*>(to), value);
  } else {
    _mm256_storeu_si256(static_cast<__m256i*>(to), value);
  }
}
bool IsAligned(const void* to) { return reinterpret_cast<uintptr_t>(to) % 32 == 0; }

NVC_AVX2_INLINE Words ToFractions(const YuvRgbFactors&, const uint8_t* from) {
  const __m256i bytes = Load(from);
  const __m256i zero = _mm256_setzero_si256();
  return {_mm256_srli_epi16(_mm256_unpacklo_epi8(zero, bytes), 1),
          _mm256_srli_epi16(_mm256_unpackhi_epi8(zero, bytes), 1)};
}

NVC_AVX2_INLINE __m256i Shift(const YuvRgbFactors& f, __m256i words) {
  return _mm256_srl_epi16(_mm256_sll_epi16(words, _mm_cvtsi32_si128(f.left)),
                          _mm_cvtsi32_si128(f.right));
}

NVC_AVX2_INLINE Words ToFractions(const YuvRgbFactors& f, const uint16_t* from) {
  const __m256i a = Shift(f, Load(from)), b = Shift(f, Load(from + 16));
  return {_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)};
}

// Half as many samples, each twice.
NVC_AVX2_INLINE Words Twice(__m256i words) {
  return {_mm256_unpacklo_epi16(words, words), _mm256_unpackhi_epi16(words, words)};
}
NVC_AVX2_INLINE __m256i HalfFractions(const YuvRgbFactors&, const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 7);
}
NVC_AVX2_INLINE __m256i HalfFractions(const YuvRgbFactors& f, const uint16_t* from) {
  return Shift(f, Load(from));
}

struct Terms {
  __m256i red, green, blue;
};

NVC_AVX2_INLINE Terms TermsOf(const YuvRgbFactors& f, __m256i cb, __m256i cr) {
  const __m256i middle = _mm256_set1_epi16(0x4000), half = _mm256_set1_epi16(16);
  cb = _mm256_sub_epi16(cb, middle);
  cr = _mm256_sub_epi16(cr, middle);
  const __m256i red = _mm256_mulhrs_epi16(cr, _mm256_set1_epi16(f.cr_to_r));
  const __m256i blue = _mm256_mulhrs_epi16(cb, _mm256_set1_epi16(f.cb_to_b));
  const __m256i green = _mm256_add_epi16(_mm256_mulhrs_epi16(cb, _mm256_set1_epi16(f.cb_to_g)),
                                         _mm256_mulhrs_epi16(cr, _mm256_set1_epi16(f.cr_to_g)));
  return {_mm256_add_epi16(red, half), _mm256_add_epi16(green, half), _mm256_add_epi16(blue, half)};
}

NVC_AVX2_INLINE void StoreWords(int16_t* to, const Words& words) {
  Store(to, words.low);
  Store(to + 16, words.high);
}

template <typename T>
NVC_AVX2_INLINE void ChromaBlock(const YuvRgbFactors& f, const T* cb, const T* cr, int log2, int at,
                                 ChromaTerms* terms) {
  if (log2 == 1) {
    const Terms t = TermsOf(f, HalfFractions(f, cb), HalfFractions(f, cr));
    StoreWords(terms->red() + at, Twice(t.red));
    StoreWords(terms->green() + at, Twice(t.green));
    StoreWords(terms->blue() + at, Twice(t.blue));
    return;
  }
  const Words u = ToFractions(f, cb), v = ToFractions(f, cr);
  const Terms low = TermsOf(f, u.low, v.low), high = TermsOf(f, u.high, v.high);
  StoreWords(terms->red() + at, {low.red, high.red});
  StoreWords(terms->green() + at, {low.green, high.green});
  StoreWords(terms->blue() + at, {low.blue, high.blue});
}

template <typename T>
NVC_AVX2_INLINE void ChromaRow(const YuvRgbFactors& f, const T* cb, const T* cr, int log2,
                               int count, ChromaTerms* terms) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    ChromaBlock(f, cb + (i >> log2), cr + (i >> log2), log2, i, terms);
  }
  if (i == count) return;
  T last_cb[kStep] = {}, last_cr[kStep] = {};
  const size_t left = (count - i + log2) >> log2;
  memcpy(last_cb, cb + (i >> log2), left * sizeof(T));
  memcpy(last_cr, cr + (i >> log2), left * sizeof(T));
  ChromaBlock(f, last_cb, last_cr, log2, i, terms);
}

NVC_AVX2_INLINE Words LumaOf(const YuvRgbFactors& f, Words y) {
  const __m256i offset = _mm256_set1_epi16(f.luma_offset), factor = _mm256_set1_epi16(f.y);
  return {_mm256_mulhrs_epi16(_mm256_sub_epi16(y.low, offset), factor),
          _mm256_mulhrs_epi16(_mm256_sub_epi16(y.high, offset), factor)};
}

// 32 bytes of one colour.
NVC_AVX2_INLINE __m256i Sum(const Words& luma, __m256i low, __m256i high) {
  low = _mm256_srai_epi16(_mm256_add_epi16(luma.low, low), 5);
  high = _mm256_srai_epi16(_mm256_add_epi16(luma.high, high), 5);
  return _mm256_packus_epi16(low, high);
}

template <typename T>
NVC_AVX2_INLINE void Colors(const YuvRgbFactors& f, const T* luma, const int16_t* const terms[3],
                            int at, __m256i colors[3]) {
  const Words y = LumaOf(f, ToFractions(f, luma));
  for (int c = 0; c < 3; ++c) {
    colors[c] = Sum(y, Load(terms[c] + at), Load(terms[c] + at + 16));
  }
}

template <bool kStream>
NVC_AVX2_INLINE void StoreTriples(const __m256i colors[3], uint8_t* to) {
  const internal::Triples triples = internal::ByteTriples(colors);
  for (int k = 0; k < 3; ++k) Store<kStream>(to + 32 * k, triples.part[k]);
}

template <bool kStream, typename T>
NVC_AVX2_INLINE void PackedRow(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms,
                               int count, bool bgr, uint8_t* to) {
  const int16_t* const order[3] = {bgr ? terms.blue() : terms.red(), terms.green(),
                                   bgr ? terms.red() : terms.blue()};
  __m256i colors[3];
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    Colors(f, luma + i, order, i, colors);
    StoreTriples<kStream>(colors, to + 3 * i);
  }
  if (i == count) return;
  T last[kStep] = {};
  uint8_t triples[3 * kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  Colors(f, last, order, i, colors);
  StoreTriples<false>(colors, triples);
  memcpy(to + 3 * i, triples, 3 * (count - i));
}

template <bool kStream, typename T>
NVC_AVX2_INLINE void PlanarRow(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms,
                               int count, uint8_t* const rgb[3]) {
  const int16_t* const order[3] = {terms.red(), terms.green(), terms.blue()};
  __m256i colors[3];
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    Colors(f, luma + i, order, i, colors);
    for (int c = 0; c < 3; ++c) Store<kStream>(rgb[c] + i, colors[c]);
  }
  if (i == count) return;
  T last[kStep] = {};
  uint8_t bytes[kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  Colors(f, last, order, i, colors);
  for (int c = 0; c < 3; ++c) {
    Store(bytes, colors[c]);
    memcpy(rgb[c] + i, bytes, count - i);
  }
}

template <typename T>
NVC_AVX2_INLINE __m256i GrayBlock(const YuvRgbFactors& f, const T* luma) {
  const __m256i half = _mm256_set1_epi16(16);
  return Sum(LumaOf(f, ToFractions(f, luma)), half, half);
}

template <typename T>
NVC_AVX2_INLINE void GrayRow(const YuvRgbFactors& f, const T* luma, int count, uint8_t* to) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) Store(to + i, GrayBlock(f, luma + i));
  if (i == count) return;
  T last[kStep] = {};
  uint8_t bytes[kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  Store(bytes, GrayBlock(f, last));
  memcpy(to + i, bytes, count - i);
}

NVC_AVX2 void Chroma8(const YuvRgbFactors& f, const uint8_t* cb, const uint8_t* cr, int log2,
                      int count, ChromaTerms* terms) {
  ChromaRow(f, cb, cr, log2, count, terms);
}
NVC_AVX2 void Chroma16(const YuvRgbFactors& f, const uint16_t* cb, const uint16_t* cr, int log2,
                       int count, ChromaTerms* terms) {
  ChromaRow(f, cb, cr, log2, count, terms);
}
NVC_AVX2 void Planar8(const YuvRgbFactors& f, const uint8_t* luma, const ChromaTerms& terms,
                      int count, bool stream, uint8_t* const rgb[3]) {
  if (stream && IsAligned(rgb[0]) && IsAligned(rgb[1]) && IsAligned(rgb[2])) {
    PlanarRow<true>(f, luma, terms, count, rgb);
  } else {
    PlanarRow<false>(f, luma, terms, count, rgb);
  }
}
NVC_AVX2 void Packed8(const YuvRgbFactors& f, const uint8_t* luma, const ChromaTerms& terms,
                      int count, bool bgr, bool stream, uint8_t* to) {
  if (stream && IsAligned(to)) {
    PackedRow<true>(f, luma, terms, count, bgr, to);
  } else {
    PackedRow<false>(f, luma, terms, count, bgr, to);
  }
}
NVC_AVX2 void Planar16(const YuvRgbFactors& f, const uint16_t* luma, const ChromaTerms& terms,
                       int count, bool stream, uint8_t* const rgb[3]) {
  if (stream && IsAligned(rgb[0]) && IsAligned(rgb[1]) && IsAligned(rgb[2])) {
    PlanarRow<true>(f, luma, terms, count, rgb);
  } else {
    PlanarRow<false>(f, luma, terms, count, rgb);
  }
}
NVC_AVX2 void Packed16(const YuvRgbFactors& f, const uint16_t* luma, const ChromaTerms& terms,
                       int count, bool bgr, bool stream, uint8_t* to) {
  if (stream && IsAligned(to)) {
    PackedRow<true>(f, luma, terms, count, bgr, to);
  } else {
    PackedRow<false>(f, luma, terms, count, bgr, to);
  }
}
NVC_AVX2 void Gray8(const YuvRgbFactors& f, const uint8_t* luma, int count, uint8_t* to) {
  GrayRow(f, luma, count, to);
}
NVC_AVX2 void Gray16(const YuvRgbFactors& f, const uint16_t* luma, int count, uint8_t* to) {
  GrayRow(f, luma, count, to);
}
void Fence() { _mm_sfence(); }

}  // namespace

namespace internal {

const YuvRgbKernels& Avx2YuvRgbKernels() {
  static const YuvRgbKernels kernels = {Chroma8,  Chroma16, Planar8, Planar16, Packed8,
                                        Packed16, Gray8,    Gray16,  Fence};
  return kernels;
}

}  // namespace internal
}  // namespace nvc

#endif  // NVC_HAVE_X86_SIMD
