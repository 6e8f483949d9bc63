// Vector operations for the row kernels, on top of Highway. foreach_target.h includes each kernel's
// file, and with it this header, once for each instruction set.
#if defined(TF_NVCODEC_CORE_ROWS_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TF_NVCODEC_CORE_ROWS_VECTORS_INL_H_
#undef TF_NVCODEC_CORE_ROWS_VECTORS_INL_H_
#else
#define TF_NVCODEC_CORE_ROWS_VECTORS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tf_nvcodec/core/rows/simd.h"

// Whether this instruction set has the vectors below. Without them a kernel only has the plain
// loop, which otherwise handles the end of each row.
#undef NVC_HAS_VECTORS
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
#define NVC_HAS_VECTORS 1
#else
#define NVC_HAS_VECTORS 0
#endif

// Returns the version of the table `kernels` for `simd`.
#undef NVC_CHOOSE
#if (HWY_TARGETS & HWY_SSE4) && (HWY_TARGETS & HWY_AVX2)
#define NVC_CHOOSE(simd, kernels)            \
  ((simd) == Simd::kAvx2   ? N_AVX2::kernels \
   : (simd) == Simd::kSse4 ? N_SSE4::kernels \
                           : HWY_STATIC_DISPATCH(kernels))
#else
#define NVC_CHOOSE(simd, kernels) HWY_STATIC_DISPATCH(kernels)
#endif

#if NVC_HAS_VECTORS

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
constexpr int kLanes = HWY_MAX_BYTES / static_cast<int>(sizeof(T));

// With `stream`, the row bypasses the caches and must be aligned, see CanStream.
template <typename T>
HWY_INLINE void StoreRow(bool stream, Vector<T> v, T* to) {
  if (stream) {
    hn::Stream(v, Tag<T>(), to);
  } else {
    hn::StoreU(v, Tag<T>(), to);
  }
}
HWY_INLINE bool CanStream(const void* to) {
  return reinterpret_cast<uintptr_t>(to) % HWY_MAX_BYTES == 0;
}

// Three operations that Highway 1.0 lacks or has in a slower form. In vectors with two blocks of 16
// bytes, both versions of Narrow work on each block by itself, so that they undo InterleaveLower
// and InterleaveUpper.
#if HWY_TARGET == HWY_AVX2
HWY_INLINE Vector<uint8_t> Narrow(Vector<int16_t> low, Vector<int16_t> high) {
  return Vector<uint8_t>{_mm256_packus_epi16(low.raw, high.raw)};
}
HWY_INLINE Vector<uint16_t> Narrow(Vector<int32_t> low, Vector<int32_t> high) {
  return Vector<uint16_t>{_mm256_packus_epi32(low.raw, high.raw)};
}
// For floats that fit in int32_t. Highway's ConvertTo also handles all others, which takes longer.
HWY_INLINE Vector<int32_t> Truncate(Vector<float> v) {
  return Vector<int32_t>{_mm256_cvttps_epi32(v.raw)};
}
#elif HWY_TARGET == HWY_SSE4
HWY_INLINE Vector<uint8_t> Narrow(Vector<int16_t> low, Vector<int16_t> high) {
  return Vector<uint8_t>{_mm_packus_epi16(low.raw, high.raw)};
}
HWY_INLINE Vector<uint16_t> Narrow(Vector<int32_t> low, Vector<int32_t> high) {
  return Vector<uint16_t>{_mm_packus_epi32(low.raw, high.raw)};
}
HWY_INLINE Vector<int32_t> Truncate(Vector<float> v) {
  return Vector<int32_t>{_mm_cvttps_epi32(v.raw)};
}
#else
HWY_INLINE Vector<uint8_t> Narrow(Vector<int16_t> low, Vector<int16_t> high) {
  const hn::Half<Tag<uint8_t>> half;
  return hn::Combine(Tag<uint8_t>(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
HWY_INLINE Vector<uint16_t> Narrow(Vector<int32_t> low, Vector<int32_t> high) {
  const hn::Half<Tag<uint16_t>> half;
  return hn::Combine(Tag<uint16_t>(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
}
HWY_INLINE Vector<int32_t> Truncate(Vector<float> v) { return hn::ConvertTo(Tag<int32_t>(), v); }
#endif

// In vectors with two blocks, [a0 a1] and [b0 b1] become [a0 b0] and [a1 b1].
template <typename T>
HWY_INLINE void SwapBlocks(Vector<T>* a, Vector<T>* b) {
#if HWY_MAX_BYTES == 32
  const Vector<T> low = hn::ConcatLowerLower(Tag<T>(), *b, *a);
  *b = hn::ConcatUpperUpper(Tag<T>(), *b, *a);
  *a = low;
#endif
}

template <typename T>
HWY_INLINE void StorePairs(bool stream, const Vector<T> x[2], T* to) {
  Vector<T> low = hn::InterleaveLower(Tag<T>(), x[0], x[1]);
  Vector<T> high = hn::InterleaveUpper(Tag<T>(), x[0], x[1]);
  SwapBlocks<T>(&low, &high);
  StoreRow<T>(stream, low, to);
  StoreRow<T>(stream, high, to + kLanes<T>);
}

// Tables to interleave three vectors, of one colour each, to three vectors of colour triples.
//
// Vectors are split into groups of n elements, where 3 does not divide n. Each colour c is permuted
// in its group so that element i is pixel (i - c) / 3 modulo n. Then each pixel is at an element
// where one of the vectors of triples needs it. Every third element of each colour makes such a
// vector.
template <typename T>
struct TripleTables {
  static constexpr int kGroup = sizeof(T) == 4 ? HWY_MAX_BYTES / 4 : 16 / sizeof(T);
  // Whether vector 1 of the triples starts with colour 1, and vector 2 with colour 2.
  static constexpr bool kAscending = kGroup % 3 == 1;

  constexpr TripleTables() {
    int third = 1;  // 1 / 3 modulo kGroup
    while (3 * third % kGroup != 1) ++third;
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < kGroup; ++i) {
        const int pixel = (i + kGroup - c) * third % kGroup;
        lane[c][i] = pixel;
        for (size_t b = 0; b < sizeof(T) && kGroup * sizeof(T) == 16; ++b) {
          byte[c][i * sizeof(T) + b] = static_cast<uint8_t>(pixel * sizeof(T) + b);
        }
      }
      for (int b = 0; b < HWY_MAX_BYTES; ++b) {
        at[c][b] = b % (kGroup * sizeof(T)) / sizeof(T) % 3 == static_cast<size_t>(c) ? 255 : 0;
      }
    }
  }

  alignas(32) int32_t lane[3][16] = {};
  alignas(32) uint8_t byte[3][16] = {};
  alignas(32) uint8_t at[3][HWY_MAX_BYTES] = {};  // 255 in every third element
};

template <typename T>
HWY_INLINE Vector<T> ForTriples(const TripleTables<T>& tables, int c, Vector<T> color) {
  const Tag<uint8_t> bytes;
  return hn::BitCast(Tag<T>(), hn::TableLookupBytes(hn::BitCast(bytes, color),
                                                    hn::LoadDup128(bytes, tables.byte[c])));
}
HWY_INLINE Vector<float> ForTriples(const TripleTables<float>& tables, int c, Vector<float> color) {
  return hn::TableLookupLanes(color, hn::SetTableIndices(Tag<float>(), tables.lane[c]));
}

template <typename T>
HWY_INLINE Vector<T> EveryThird(const TripleTables<T>& tables, Vector<T> x0, Vector<T> x1,
                                Vector<T> x2) {
  const Tag<T> d;
  const Tag<uint8_t> bytes;
  const auto at1 = hn::MaskFromVec(hn::BitCast(d, hn::Load(bytes, tables.at[1])));
  const auto at2 = hn::MaskFromVec(hn::BitCast(d, hn::Load(bytes, tables.at[2])));
  return hn::IfThenElse(at2, x2, hn::IfThenElse(at1, x1, x0));
}

template <typename T>
HWY_INLINE void StoreTriples(bool stream, const Vector<T> x[3], T* to) {
  static constexpr TripleTables<T> kTables;
  const Vector<T> a = ForTriples(kTables, 0, x[0]);
  const Vector<T> b = ForTriples(kTables, 1, x[1]);
  const Vector<T> c = ForTriples(kTables, 2, x[2]);
  Vector<T> part0 = EveryThird<T>(kTables, a, b, c);
  Vector<T> part1 = EveryThird<T>(kTables, b, c, a), part2 = EveryThird<T>(kTables, c, a, b);
  if (!kTables.kAscending) {
    const Vector<T> swapped = part1;
    part1 = part2;
    part2 = swapped;
  }
#if HWY_MAX_BYTES == 32
  if constexpr (kTables.kGroup < kLanes<T>) {
    // Each part has the triples of the pixels of its own blocks. This puts the blocks in order.
    const Tag<T> d;
    const Vector<T> p0 = part0, p1 = part1, p2 = part2;
    part0 = hn::ConcatLowerLower(d, p1, p0);
    part1 = hn::ConcatUpperLower(d, p0, p2);
    part2 = hn::ConcatUpperUpper(d, p2, p1);
  }
#endif
  StoreRow<T>(stream, part0, to);
  StoreRow<T>(stream, part1, to + kLanes<T>);
  StoreRow<T>(stream, part2, to + 2 * kLanes<T>);
}

}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#endif  // NVC_HAS_VECTORS

#endif  // included once for each instruction set
