#include "tf_nvcodec/core/rows/resample_rows.h"

#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/resample_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
void ToFloat(const T* __restrict from, int count, float* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <int kRows, typename T>
HWY_INLINE void SumRows(const T* const* from, const float* weights, bool first, int count,
                        float* __restrict sum) {
  const T* __restrict a = from[0];
  const T* __restrict b = kRows > 1 ? from[1] : nullptr;
  const T* __restrict c = kRows > 2 ? from[2] : nullptr;
  const T* __restrict d = kRows > 3 ? from[3] : nullptr;
  const float wa = weights[0], wb = kRows > 1 ? weights[1] : 0;
  const float wc = kRows > 2 ? weights[2] : 0, wd = kRows > 3 ? weights[3] : 0;
  const auto row_sum = [=](int i) HWY_ATTR __attribute__((always_inline)) {
    float value = wa * static_cast<float>(a[i]);
    if (kRows > 1) value += wb * static_cast<float>(b[i]);
    if (kRows > 2) value += wc * static_cast<float>(c[i]);
    if (kRows > 3) value += wd * static_cast<float>(d[i]);
    return value;
  };
  if (first) {
    for (int i = 0; i < count; ++i) sum[i] = row_sum(i);
  } else {
    for (int i = 0; i < count; ++i) sum[i] += row_sum(i);
  }
}

template <typename T>
HWY_INLINE void SumAnyRows(const T* const* from, const float* weights, int rows, bool first,
                           int count, float* sum) {
  switch (rows) {
    case 1:
      return SumRows<1>(from, weights, first, count, sum);
    case 2:
      return SumRows<2>(from, weights, first, count, sum);
    case 3:
      return SumRows<3>(from, weights, first, count, sum);
    default:
      return SumRows<4>(from, weights, first, count, sum);
  }
}

template <typename T>
void AddRows(const T* const* from, const float* weights, int rows, bool first, int count,
             float* sum) {
  SumAnyRows(from, weights, rows, first, count, sum);
}

void BlendRows(const float* const* from, const float* weights, int rows, int count, float* to) {
  SumAnyRows(from, weights, rows, /*first=*/true, count, to);
}

#if NVC_HAS_VECTORS

constexpr int kStep = kLanes<float>;
constexpr Tag<float> kFloats;
constexpr hn::FixedTag<float, 4> kFour;
using Four = hn::Vec<decltype(kFour)>;
template <typename T, size_t kCount>
using Few = hn::FixedTag<T, kCount>;

template <typename Word>
HWY_INLINE Word Get(const void* from) {
  Word word;
  memcpy(&word, from, sizeof(word));
  return word;
}

template <typename V>
HWY_INLINE Vector<float> Floats(V samples) {
  return hn::ConvertTo(kFloats, hn::PromoteTo(Tag<int32_t>(), samples));
}

// Loads kCount words at from + start[0], from + start[kEvery] and so on. This is faster than gather
// instructions, and reads nothing beyond the taps.
template <typename Word, size_t kCount, int kEvery = 1, typename T>
HWY_INLINE hn::Vec<Few<Word, kCount>> Fetch(const T* from, const int32_t* start) {
  const Few<Word, kCount> d;
  const auto word = [&](int k) HWY_ATTR { return Get<Word>(from + start[k * kEvery]); };
  if constexpr (kCount == 1) {
    const Word only = word(0);
    return hn::LoadU(d, &only);
  } else if constexpr (sizeof(Word) >= 4 || kCount > 4) {
    return hn::Combine(d, Fetch<Word, kCount / 2, kEvery>(from, start + kCount / 2 * kEvery),
                       Fetch<Word, kCount / 2, kEvery>(from, start));
  } else {
    using All = std::conditional_t<sizeof(Word) == 1, uint32_t, uint64_t>;
    const All first = word(0);
    auto words = hn::BitCast(d, hn::LoadU(Few<All, 1>(), &first));
    words = hn::InsertLane(words, 1, word(1));
    words = hn::InsertLane(words, 2, word(2));
    return hn::InsertLane(words, 3, word(3));
  }
}

// Returns bits [kFirst, kEnd) of each 32-bit element as a float.
template <int kFirst, int kEnd>
HWY_INLINE Vector<float> Bits(Vector<uint32_t> longs) {
  const Tag<uint32_t> d;
  if constexpr (kFirst > 0) longs = hn::ShiftRight<kFirst>(longs);
  if constexpr (kEnd < 32) longs = hn::And(longs, hn::Set(d, (1u << (kEnd - kFirst)) - 1));
  return hn::ConvertTo(kFloats, hn::BitCast(Tag<int32_t>(), longs));
}

// x[0] has the samples at start[0], start[1] and so on; x[1] has the samples after those.
struct Pairs {
  Vector<float> x[2];
};
HWY_INLINE Pairs FetchPairs(const uint8_t* from, const int32_t* start) {
  const auto pairs = hn::PromoteTo(Tag<uint32_t>(), Fetch<uint16_t, kStep>(from, start));
  return {{Bits<0, 8>(pairs), Bits<8, 32>(pairs)}};
}
HWY_INLINE Pairs FetchPairs(const uint16_t* from, const int32_t* start) {
  const auto pairs = Fetch<uint32_t, kStep>(from, start);
  return {{Bits<0, 16>(pairs), Bits<16, 32>(pairs)}};
}

// The same with the three samples after each.
struct Quads {
  Vector<float> x[4];
};
HWY_INLINE Quads FetchQuads(const uint8_t* from, const int32_t* start) {
  const auto quads = Fetch<uint32_t, kStep>(from, start);
  return {{Bits<0, 8>(quads), Bits<8, 16>(quads), Bits<16, 24>(quads), Bits<24, 32>(quads)}};
}
HWY_INLINE Quads FetchQuads(const uint16_t* from, const int32_t* start) {
  const Tag<uint32_t> d;
  // Each 64-bit element has the four samples of one output: `even` of outputs 0, 2 and so on, `odd`
  // of outputs 1, 3 and so on.
  const auto even = Fetch<uint64_t, kStep / 2, 2>(from, start);
  const auto odd = Fetch<uint64_t, kStep / 2, 2>(from, start + 1);
  const auto low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  const auto high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  return {{Bits<0, 16>(low), Bits<16, 32>(low), Bits<0, 16>(high), Bits<16, 32>(high)}};
}

// Returns (x[0] + x[1]) + (x[2] + x[3]) for x = a, b, c and d.
HWY_INLINE Four SumFours(Four a, Four b, Four c, Four d) {
  const hn::Repartition<double, decltype(kFour)> wide;
  // a0 + a1, b0 + b1, a2 + a3, b2 + b3
  const Four ab = hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b)));
  const Four cd = hn::Add(hn::OddEven(d, c), hn::Shuffle2301(hn::OddEven(c, d)));
  const auto x = hn::BitCast(wide, ab), y = hn::BitCast(wide, cd);
  return hn::Add(hn::BitCast(kFour, hn::InterleaveLower(wide, x, y)),
                 hn::BitCast(kFour, hn::InterleaveUpper(wide, x, y)));
}

// Makes the eight sums s of Dot8 and returns s0 + s4, s1 + s5, s2 + s6 and s3 + s7.
HWY_INLINE Four FoldedSums(const float* x, const float* w, int taps) {
#if HWY_MAX_BYTES == 32
  const Few<float, 8> d;
  auto sums = hn::Mul(hn::LoadU(d, w), hn::LoadU(d, x));
  for (int k = 8; k < taps; k += 8) {
    sums = hn::Add(sums, hn::Mul(hn::LoadU(d, w + k), hn::LoadU(d, x + k)));
  }
  return hn::Add(hn::LowerHalf(kFour, sums), hn::UpperHalf(kFour, sums));
#else
  auto low = hn::Mul(hn::LoadU(kFour, w), hn::LoadU(kFour, x));
  auto high = hn::Mul(hn::LoadU(kFour, w + 4), hn::LoadU(kFour, x + 4));
  for (int k = 8; k < taps; k += 8) {
    low = hn::Add(low, hn::Mul(hn::LoadU(kFour, w + k), hn::LoadU(kFour, x + k)));
    high = hn::Add(high, hn::Mul(hn::LoadU(kFour, w + k + 4), hn::LoadU(kFour, x + k + 4)));
  }
  return hn::Add(low, high);
#endif
}

#endif  // NVC_HAS_VECTORS

template <typename T>
void Pick(const T* from, const int32_t* start, int count, float* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + kStep <= count; i += kStep) {
    hn::StoreU(Floats(Fetch<T, kStep>(from, start + i)), kFloats, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[start[i]]);
}

template <typename T>
void Dot2(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  const float* more_weights = weights + count;
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + kStep <= count; i += kStep) {
    const Pairs pairs = FetchPairs(from, start + i);
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(kFloats, weights + i), pairs.x[0]),
                       hn::Mul(hn::LoadU(kFloats, more_weights + i), pairs.x[1])),
               kFloats, to + i);
  }
#endif
  for (; i < count; ++i) {
    const T* x = from + start[i];
    to[i] = weights[i] * static_cast<float>(x[0]) + more_weights[i] * static_cast<float>(x[1]);
  }
}

template <typename T>
void Dot4(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  const float* w[4];
  for (int k = 0; k < 4; ++k) w[k] = weights + static_cast<int64_t>(k) * count;
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + kStep <= count; i += kStep) {
    const Quads quads = FetchQuads(from, start + i);
    const auto product = [&](int k)
                             HWY_ATTR { return hn::Mul(hn::LoadU(kFloats, w[k] + i), quads.x[k]); };
    hn::StoreU(hn::Add(hn::Add(product(0), product(1)), hn::Add(product(2), product(3))), kFloats,
               to + i);
  }
#endif
  for (; i < count; ++i) {
    const T* x = from + start[i];
    to[i] = (w[0][i] * static_cast<float>(x[0]) + w[1][i] * static_cast<float>(x[1])) +
            (w[2][i] * static_cast<float>(x[2]) + w[3][i] * static_cast<float>(x[3]));
  }
}

void Dot8(const float* from, const int32_t* start, const float* weights, int taps, int count,
          float* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + 4 <= count; i += 4) {
    const float* w = weights + static_cast<int64_t>(i) * taps;
    const auto sums = [&](int k)
                          HWY_ATTR { return FoldedSums(from + start[i + k], w + k * taps, taps); };
    hn::StoreU(SumFours(sums(0), sums(1), sums(2), sums(3)), kFour, to + i);
  }
#endif
  for (; i < count; ++i) {
    const float* x = from + start[i];
    const float* w = weights + static_cast<int64_t>(i) * taps;
    float s[8];
    for (int k = 0; k < 8; ++k) s[k] = w[k] * x[k];
    for (int k = 8; k < taps; ++k) s[k % 8] += w[k] * x[k];
    to[i] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
}

template <typename T>
constexpr SampleKernels<T> MakeSampleKernels() {
  return {ToFloat<T>, Pick<T>, Dot2<T>, Dot4<T>, AddRows<T>};
}

constexpr ResampleKernels kResampleKernels = {MakeSampleKernels<uint8_t>(),
                                              MakeSampleKernels<uint16_t>(), Dot8, BlendRows};

}  // namespace

}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {
const ResampleKernels& GetResampleKernels(Simd simd) { return NVC_CHOOSE(simd, kResampleKernels); }
}  // namespace nvc
#endif  // HWY_ONCE
