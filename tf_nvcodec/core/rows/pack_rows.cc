#include "tf_nvcodec/core/rows/pack_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/pack_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

template <int kInputs>
HWY_INLINE void MapInputs(const LinearMap& map, const float* const x[3], int count,
                          float* __restrict y) {
  const float* __restrict x0 = x[0];
  const float* __restrict x1 = kInputs > 1 ? x[1] : nullptr;
  const float* __restrict x2 = kInputs > 2 ? x[2] : nullptr;
  const float f0 = map.factor[0], f1 = map.factor[1], f2 = map.factor[2];
  const float offset = map.offset, low = map.low, high = map.high;
  for (int i = 0; i < count; ++i) {
    float sum = offset + f0 * x0[i];
    if (kInputs > 1) sum += f1 * x1[i];
    if (kInputs > 2) sum += f2 * x2[i];
    sum = sum < low ? low : sum;
    y[i] = sum > high ? high : sum;
  }
}

void Map(const LinearMap& map, const float* const x[3], int inputs, int count, float* y) {
  switch (inputs) {
    case 1:
      return MapInputs<1>(map, x, count, y);
    case 2:
      return MapInputs<2>(map, x, count, y);
    default:
      return MapInputs<3>(map, x, count, y);
  }
}

// Each struct below makes elements of one type: One makes a single element, and Load makes a vector
// of elements of a row.

#if NVC_HAS_VECTORS
HWY_INLINE Vector<int32_t> LoadRounded(const float* from) {
  const Tag<float> d;
  return Truncate(hn::Add(hn::LoadU(d, from), hn::Set(d, 0.5f)));
}
#endif

struct RoundToBytes {
  HWY_INLINE uint8_t One(float value) const { return static_cast<uint8_t>(value + 0.5f); }
#if NVC_HAS_VECTORS
  HWY_INLINE Vector<uint8_t> Load(const float* from) const {
    constexpr int kStep = kLanes<float>;
    const Tag<int16_t> words;
    const auto low = hn::ReorderDemote2To(words, LoadRounded(from), LoadRounded(from + kStep));
    const auto high =
        hn::ReorderDemote2To(words, LoadRounded(from + 2 * kStep), LoadRounded(from + 3 * kStep));
    const auto bytes = Narrow(low, high);
#if HWY_MAX_BYTES == 32
    // Both steps interleaved the blocks of their operands.
    alignas(32) static constexpr int32_t kOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    const Tag<int32_t> longs;
    return hn::BitCast(Tag<uint8_t>(), hn::TableLookupLanes(hn::BitCast(longs, bytes),
                                                            hn::SetTableIndices(longs, kOrder)));
#else
    return bytes;
#endif
  }
#endif
};

#if NVC_HAS_VECTORS
// Restores the order after Narrow joined two vectors.
template <typename T>
HWY_INLINE Vector<T> InOrder(Vector<T> narrowed) {
#if HWY_MAX_BYTES == 32
  alignas(32) static constexpr int64_t kOrder[4] = {0, 2, 1, 3};
  const Tag<int64_t> d;
  return hn::BitCast(
      Tag<T>(), hn::TableLookupLanes(hn::BitCast(d, narrowed), hn::SetTableIndices(d, kOrder)));
#else
  return narrowed;
#endif
}
#endif

struct RoundToWords {
  int shift;
  HWY_INLINE uint16_t One(float value) const {
    return static_cast<uint16_t>(static_cast<int>(value + 0.5f) << shift);
  }
#if NVC_HAS_VECTORS
  HWY_INLINE Vector<uint16_t> Load(const float* from) const {
    const auto words = Narrow(LoadRounded(from), LoadRounded(from + kLanes<float>));
    return hn::ShiftLeftSame(InOrder<uint16_t>(words), shift);
  }
#endif
};

struct ToHalves {
  HWY_INLINE uint16_t One(float value) const { return ToHalf(value); }
  // SSE4 has no instruction for halves, and Highway's replacement does not round.
#if NVC_HAS_VECTORS && HWY_TARGET != HWY_SSE4
  HWY_INLINE Vector<uint16_t> Load(const float* from) const {
    const Tag<float> d;
    const hn::Rebind<hwy::float16_t, Tag<float>> halves;
    const hn::Half<Tag<uint16_t>> words;
    const auto low = hn::DemoteTo(halves, hn::LoadU(d, from));
    const auto high = hn::DemoteTo(halves, hn::LoadU(d, from + kLanes<float>));
    return hn::Combine(Tag<uint16_t>(), hn::BitCast(words, high), hn::BitCast(words, low));
  }
#endif
};

struct Copy {
  template <typename T>
  HWY_INLINE T One(T value) const {
    return value;
  }
#if NVC_HAS_VECTORS
  template <typename T>
  HWY_INLINE Vector<T> Load(const T* from) const {
    return hn::LoadU(Tag<T>(), from);
  }
#endif
};

// Packs elements [begin, count) of each channel, one by one.
template <typename Source, typename Make, typename T>
HWY_INLINE void PackElements(const Source* const from[3], int channels, int begin, int count,
                             Make make, T* to) {
  for (int c = 0; c < channels; ++c) {
    for (int i = begin; i < count; ++i) to[channels * i + c] = make.One(from[c][i]);
  }
}

template <int kChannels, typename Source, typename Make, typename T>
HWY_INLINE void PackChannels(const Source* const from[3], int count, Make make, bool stream,
                             T* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Vector<T> x[kChannels];
    for (int c = 0; c < kChannels; ++c) x[c] = make.Load(from[c] + i);
    if constexpr (kChannels == 1) {
      StoreRow<T>(stream, x[0], to + i);
    } else if constexpr (kChannels == 2) {
      StorePairs<T>(stream, x, to + 2 * i);
    } else {
      StoreTriples<T>(stream, x, to + 3 * i);
    }
  }
#endif
  PackElements(from, kChannels, i, count, make, to);
}

template <typename Source, typename Make, typename T>
HWY_INLINE void PackRow(const Source* const from[3], int channels, int count, Make make,
                        bool stream, T* to) {
  switch (channels) {
    case 1:
      return PackChannels<1>(from, count, make, stream, to);
    case 2:
      return PackChannels<2>(from, count, make, stream, to);
    default:
      return PackChannels<3>(from, count, make, stream, to);
  }
}

void Pack(const float* const from[3], int channels, int count, SampleType type, int shift,
          bool stream, void* to) {
#if NVC_HAS_VECTORS
  stream = stream && CanStream(to);
#endif
  switch (type) {
    case SampleType::kUint8:
      return PackRow(from, channels, count, RoundToBytes(), stream, static_cast<uint8_t*>(to));
    case SampleType::kUint16:
      return PackRow(from, channels, count, RoundToWords{shift}, stream,
                     static_cast<uint16_t*>(to));
    case SampleType::kFloat16:
#if HWY_TARGET == HWY_SSE4
      return PackElements(from, channels, 0, count, ToHalves(), static_cast<uint16_t*>(to));
#else
      return PackRow(from, channels, count, ToHalves(), stream, static_cast<uint16_t*>(to));
#endif
    case SampleType::kFloat32:
      return PackRow(from, channels, count, Copy(), stream, static_cast<float*>(to));
  }
}

void InterleaveBytes(const uint8_t* const from[3], int channels, int count, uint8_t* to) {
  PackRow(from, channels, count, Copy(), /*stream=*/false, to);
}
void InterleaveWords(const uint16_t* const from[3], int channels, int count, uint16_t* to) {
  PackRow(from, channels, count, Copy(), /*stream=*/false, to);
}

// Compilers vectorize the loops of constant steps by themselves.
template <int kStep>
HWY_INLINE void EveryByte(const uint8_t* __restrict from, int count, uint8_t* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = from[i * kStep];
}

void GatherBytes(const uint8_t* __restrict from, int step, int count, uint8_t* __restrict to) {
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

HWY_INLINE void EveryWord(const uint8_t* __restrict from, int step, int shift, int depth, int count,
                          uint16_t* __restrict to) {
  const int mask = (1 << depth) - 1;
  for (int i = 0; i < count; ++i) {
    uint16_t word;
    memcpy(&word, from + i * step, sizeof(word));
    to[i] = static_cast<uint16_t>((word >> shift) & mask);
  }
}

void GatherWords(const uint8_t* from, int step, int shift, int depth, int count, uint16_t* to) {
  if (step == 2) return EveryWord(from, 2, shift, depth, count, to);
  if (step == 4) return EveryWord(from, 4, shift, depth, count, to);
  if (step == 6) return EveryWord(from, 6, shift, depth, count, to);
  EveryWord(from, step, shift, depth, count, to);
}

HWY_INLINE int ScaleOne(int sample, int right, int highest) {
  const int rounded = (sample + ((1 << right) >> 1)) >> right;
  return rounded > highest ? highest : rounded;
}
#if NVC_HAS_VECTORS
HWY_INLINE Vector<uint16_t> LoadScaled(const uint16_t* from, int right, int highest) {
  const Tag<uint16_t> d;
  auto words = hn::LoadU(d, from);
  // This shifts out all bits but the last before it rounds, so that rounding can't overflow.
  if (right > 0) words = hn::AverageRound(hn::ShiftRightSame(words, right - 1), hn::Zero(d));
  return hn::Min(words, hn::Set(d, static_cast<uint16_t>(highest)));
}
#endif

void ScaleWords(const uint16_t* from, int right, int highest, int left, int count, uint16_t* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  for (; i + kLanes<uint16_t> <= count; i += kLanes<uint16_t>) {
    const auto words = LoadScaled(from + i, right, highest);
    hn::StoreU(hn::ShiftLeftSame(words, left), Tag<uint16_t>(), to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<uint16_t>(ScaleOne(from[i], right, highest) << left);
}

void NarrowWords(const uint16_t* from, int right, int count, uint8_t* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  const Tag<int16_t> d;
  for (; i + kLanes<uint8_t> <= count; i += kLanes<uint8_t>) {
    const auto low = hn::BitCast(d, LoadScaled(from + i, right, 255));
    const auto high = hn::BitCast(d, LoadScaled(from + i + kLanes<uint16_t>, right, 255));
    hn::StoreU(InOrder<uint8_t>(Narrow(low, high)), Tag<uint8_t>(), to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<uint8_t>(ScaleOne(from[i], right, 255));
}

void WidenBytes(const uint8_t* from, int left, int count, uint16_t* to) {
  int i = 0;
#if NVC_HAS_VECTORS
  const Tag<uint16_t> d;
  const hn::Half<Tag<uint8_t>> bytes;
  for (; i + kLanes<uint16_t> <= count; i += kLanes<uint16_t>) {
    const auto words = hn::PromoteTo(d, hn::LoadU(bytes, from + i));
    hn::StoreU(hn::ShiftLeftSame(words, left), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<uint16_t>(from[i] << left);
}

constexpr PackKernels kPackKernels = {
    Map,         Pack,        hwy::FlushStream, InterleaveBytes, InterleaveWords,
    GatherBytes, GatherWords, ScaleWords,       NarrowWords,     WidenBytes};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {

uint16_t ToHalf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = (bits >> 16) & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (bits < 0x38800000) {
    // Subnormal: adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded.
    float magnitude;
    memcpy(&magnitude, &bits, sizeof(magnitude));
    magnitude += 0.5f;
    memcpy(&bits, &magnitude, sizeof(bits));
    return static_cast<uint16_t>(sign | (bits - 0x3f000000));
  }
  const uint32_t rebased = bits - 0x38000000;
  return static_cast<uint16_t>(sign | ((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13));
}

const PackKernels& GetPackKernels(Simd simd) { return NVC_CHOOSE(simd, kPackKernels); }

}  // namespace nvc
#endif  // HWY_ONCE
