#include "tf_nvcodec/core/rows/chroma_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/chroma_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

// Compilers vectorize these loops by themselves.

void Fractions8(const uint8_t* __restrict from, int left, int count, int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] << left);
}

void Fractions16(const uint16_t* __restrict from, int left, int right, int count,
                 int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(static_cast<uint16_t>(from[i] << left) >> right);
  }
}

void Blend(const int16_t* __restrict a, const int16_t* __restrict b, int16_t weight, int count,
           int16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    const int16_t difference = static_cast<int16_t>(b[i] - a[i]);
    // Compilers make the instruction PMULHRSW of an expression in this form.
    const int product = ((difference * weight >> 14) + 1) >> 1;
    to[i] = static_cast<int16_t>(a[i] + product);
  }
}

void Zip(const int16_t* __restrict even, const int16_t* __restrict odd, int count,
         uint16_t* __restrict to) {
  for (int i = 0; i < count; ++i) {
    to[2 * i] = static_cast<uint16_t>(even[i]);
    to[2 * i + 1] = static_cast<uint16_t>(odd[i]);
  }
}

constexpr ChromaRowKernels kChromaRowKernels = {Fractions8, Fractions16, Blend, Zip};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {
const ChromaRowKernels& GetChromaRowKernels(Simd simd) {
  return NVC_CHOOSE(simd, kChromaRowKernels);
}
}  // namespace nvc
#endif  // HWY_ONCE
