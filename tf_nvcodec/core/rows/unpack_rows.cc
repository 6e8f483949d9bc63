#include "tf_nvcodec/core/rows/unpack_rows.h"

#include <cstring>

extern "C" {
#include <libavutil/bswap.h>
}

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/unpack_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

// Compilers vectorize these loops by themselves.

template <int kStep>
HWY_INLINE void EveryByte(const uint8_t* __restrict from, int count, uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = from[i * kStep];
}

void Bytes(const uint8_t* __restrict from, const Packing& packing, int count,
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

HWY_INLINE uint16_t Swap(uint16_t word) { return av_bswap16(word); }
HWY_INLINE uint32_t Swap(uint32_t word) { return av_bswap32(word); }

template <typename T, int kStep>
HWY_INLINE void EveryWord(const uint8_t* __restrict from, const Packing& packing, int count,
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
void Words(const uint8_t* __restrict from, const Packing& packing, int count,
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

constexpr UnpackKernels kUnpackKernels = {Bytes, Words<uint16_t>, Words<uint32_t>};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {
const UnpackKernels& GetUnpackKernels(Simd simd) { return NVC_CHOOSE(simd, kUnpackKernels); }
}  // namespace nvc
#endif  // HWY_ONCE
