#include "tf_nvcodec/core/rows/chroma_rows.h"

namespace nvc {
namespace {

NVC_INLINE_LOOP void Fractions8Loop(const uint8_t* __restrict from, int left, int count,
                                    int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] << left);
}

NVC_INLINE_LOOP void Fractions16Loop(const uint16_t* __restrict from, int left, int right,
                                     int count, int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(static_cast<uint16_t>(from[i] << left) >> right);
  }
}

NVC_INLINE_LOOP void BlendLoop(const int16_t* __restrict a, const int16_t* __restrict b,
                               int16_t weight, int count, int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    const int16_t difference = static_cast<int16_t>(b[i] - a[i]);
    // In this form compilers know the instruction PMULHRSW.
    const int product = ((difference * weight >> 14) + 1) >> 1;
    to[i] = static_cast<int16_t>(a[i] + product);
  }
}

NVC_INLINE_LOOP void ZipLoop(const int16_t* __restrict even, const int16_t* __restrict odd,
                             int count, uint16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    to[2 * i] = static_cast<uint16_t>(even[i]);
    to[2 * i + 1] = static_cast<uint16_t>(odd[i]);
  }
}

void Fractions8(const uint8_t* from, int left, int count, int16_t* to) {
  Fractions8Loop(from, left, count, to);
}
void Fractions16(const uint16_t* from, int left, int right, int count, int16_t* to) {
  Fractions16Loop(from, left, right, count, to);
}
void Blend(const int16_t* a, const int16_t* b, int16_t weight, int count, int16_t* to) {
  BlendLoop(a, b, weight, count, to);
}
void Zip(const int16_t* even, const int16_t* odd, int count, uint16_t* to) {
  ZipLoop(even, odd, count, to);
}

#ifdef NVC_HAVE_X86_SIMD
NVC_AVX2 void Avx2Fractions8(const uint8_t* from, int left, int count, int16_t* to) {
  Fractions8Loop(from, left, count, to);
}
NVC_AVX2 void Avx2Fractions16(const uint16_t* from, int left, int right, int count, int16_t* to) {
  Fractions16Loop(from, left, right, count, to);
}
NVC_AVX2 void Avx2Blend(const int16_t* a, const int16_t* b, int16_t weight, int count,
                        int16_t* to) {
  BlendLoop(a, b, weight, count, to);
}
NVC_AVX2 void Avx2Zip(const int16_t* even, const int16_t* odd, int count, uint16_t* to) {
  ZipLoop(even, odd, count, to);
}
#endif

}  // namespace

const ChromaRowKernels& GetChromaRowKernels(Simd simd) {
  static const ChromaRowKernels portable = {Fractions8, Fractions16, Blend, Zip};
#ifdef NVC_HAVE_X86_SIMD
  static const ChromaRowKernels avx2 = {Avx2Fractions8, Avx2Fractions16, Avx2Blend, Avx2Zip};
  if (simd == Simd::kAvx2) return avx2;
#endif
  return portable;
}

}  // namespace nvc
