#include "tf_nvcodec/core/rows/unpack_rows.h"

#include <cstring>

extern "C" {
#include <libavutil/bswap.h>
}

namespace nvc {
namespace {

template <int kStep>
NVC_INLINE_LOOP void EveryByte(const uint8_t* __restrict from, int count, uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = from[i * kStep];
}

NVC_INLINE_LOOP void BytesLoop(const uint8_t* __restrict from, const Packing& packing, int count,
                               uint8_t* __restrict to) {
  const int step = packing.step, shift = packing.shift;
  if (shift != 0 || packing.depth != 8) {
    const int mask = (1 << packing.depth) - 1;
    for (int i = 0; i < count; ++i) to[i] = (from[i * step] >> shift) & mask;
    return;
  }
  switch (step) {
    case 2:
      return EveryByte<2>(from, count, to);
    case 3:
      return EveryByte<3>(from, count, to);
    case 4:
      return EveryByte<4>(from, count, to);
    default:
      for (int i = 0; i < count; ++i) to[i] = from[i * step];
  }
}

inline uint16_t Swap(uint16_t word) { return av_bswap16(word); }
inline uint32_t Swap(uint32_t word) { return av_bswap32(word); }

template <typename T, int kStep>
NVC_INLINE_LOOP void EveryWord(const uint8_t* __restrict from, const Packing& packing, int count,
                               uint16_t* __restrict to) {
  const T mask = static_cast<T>((1u << packing.depth) - 1);
  const int shift = packing.shift;
  for (int i = 0; i < count; ++i) {
    T word;
    memcpy(&word, from + i * kStep, sizeof(word));
    to[i] = static_cast<uint16_t>((word >> shift) & mask);
  }
}

template <typename T>
NVC_INLINE_LOOP void WordsLoop(const uint8_t* __restrict from, const Packing& packing, int count,
                               uint16_t* __restrict to) {
  if (!packing.swapped && packing.step == 2) return EveryWord<T, 2>(from, packing, count, to);
  if (!packing.swapped && packing.step == 4) return EveryWord<T, 4>(from, packing, count, to);
  const T mask = static_cast<T>((1u << packing.depth) - 1);
  for (int i = 0; i < count; ++i) {
    T word;
    memcpy(&word, from + i * packing.step, sizeof(word));
    if (packing.swapped) word = Swap(word);
    to[i] = static_cast<uint16_t>((word >> packing.shift) & mask);
  }
}

void Bytes(const uint8_t* from, const Packing& packing, int count, uint8_t* to) {
  BytesLoop(from, packing, count, to);
}
void Words(const uint8_t* from, const Packing& packing, int count, uint16_t* to) {
  WordsLoop<uint16_t>(from, packing, count, to);
}
void Longs(const uint8_t* from, const Packing& packing, int count, uint16_t* to) {
  WordsLoop<uint32_t>(from, packing, count, to);
}

#ifdef NVC_HAVE_X86_SIMD
NVC_AVX2 void Avx2Bytes(const uint8_t* from, const Packing& packing, int count, uint8_t* to) {
  BytesLoop(from, packing, count, to);
}
NVC_AVX2 void Avx2Words(const uint8_t* from, const Packing& packing, int count, uint16_t* to) {
  WordsLoop<uint16_t>(from, packing, count, to);
}
NVC_AVX2 void Avx2Longs(const uint8_t* from, const Packing& packing, int count, uint16_t* to) {
  WordsLoop<uint32_t>(from, packing, count, to);
}
#endif

}  // namespace

const UnpackKernels& GetUnpackKernels(Simd simd) {
  static const UnpackKernels portable = {Bytes, Words, Longs};
#ifdef NVC_HAVE_X86_SIMD
  static const UnpackKernels avx2 = {Avx2Bytes, Avx2Words, Avx2Longs};
  if (simd == Simd::kAvx2) return avx2;
#endif
  return portable;
}

}  // namespace nvc
