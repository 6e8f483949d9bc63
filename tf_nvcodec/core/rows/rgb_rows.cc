#include "tf_nvcodec/core/rows/rgb_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/rgb_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

void Split8(const uint8_t* pixels, int width, uint8_t* const planes[3]) {
  uint8_t* __restrict p0 = planes[0];
  uint8_t* __restrict p1 = planes[1];
  uint8_t* __restrict p2 = planes[2];
  int x = 0;
#if NVC_HAS_VECTORS
  const hn::Full128<uint8_t> d;
  for (; x + 16 <= width; x += 16) {
    hn::Vec<decltype(d)> v0, v1, v2;
    hn::LoadInterleaved3(d, pixels + 3 * x, v0, v1, v2);
    hn::StoreU(v0, d, p0 + x);
    hn::StoreU(v1, d, p1 + x);
    hn::StoreU(v2, d, p2 + x);
  }
#endif
  for (; x < width; ++x) {
    p0[x] = pixels[3 * x];
    p1[x] = pixels[3 * x + 1];
    p2[x] = pixels[3 * x + 2];
  }
}

// Compilers vectorize the other loops by themselves.

struct Plain {
  template <typename T>
  HWY_INLINE float operator()(T sample) const {
    return static_cast<float>(sample);
  }
};

struct FromHalf {
  HWY_INLINE float operator()(uint16_t half) const {
    // The bits of exponent and mantissa give a float that is too small by a factor of 2^112, and
    // the product corrects that, also for subnormals. Infinities and NaNs become values above
    // 65504, which the caller rejects as out of range.
    const uint32_t bits = static_cast<uint32_t>(half & 0x7fff) << 13;
    const uint32_t scale_bits = 239u << 23;
    float value, scale;
    std::memcpy(&value, &bits, sizeof(value));
    std::memcpy(&scale, &scale_bits, sizeof(scale));
    value *= scale;
    return (half & 0x8000) != 0 ? -value : value;
  }
};

template <typename T, typename Widen>
HWY_INLINE void WidenRow(const T* samples, int channels, int width, Widen widen,
                         float* const planes[3]) {
  if (channels == 1) {
    float* __restrict out = planes[0];
    for (int x = 0; x < width; ++x) out[x] = widen(samples[x]);
    return;
  }
  float* __restrict p0 = planes[0];
  float* __restrict p1 = planes[1];
  float* __restrict p2 = planes[2];
  for (int x = 0; x < width; ++x) {
    p0[x] = widen(samples[3 * x]);
    p1[x] = widen(samples[3 * x + 1]);
    p2[x] = widen(samples[3 * x + 2]);
  }
}

void Widen8(const uint8_t* samples, int channels, int width, float* const planes[3]) {
  WidenRow(samples, channels, width, Plain(), planes);
}

void Widen16(const uint16_t* samples, int channels, int width, float* const planes[3]) {
  WidenRow(samples, channels, width, Plain(), planes);
}

HWY_INLINE bool InRange(const float* plane, int width) {
  int outside = 0;
  for (int x = 0; x < width; ++x) outside |= !(plane[x] >= -1.0f) | !(plane[x] <= 2.0f);
  return outside == 0;
}

HWY_INLINE bool AllInRange(int channels, int width, float* const planes[3]) {
  bool in_range = true;
  for (int c = 0; c < channels; ++c) in_range &= InRange(planes[c], width);
  return in_range;
}

bool WidenHalf(const uint16_t* samples, int channels, int width, float* const planes[3]) {
  WidenRow(samples, channels, width, FromHalf(), planes);
  return AllInRange(channels, width, planes);
}

bool WidenFloat(const float* samples, int channels, int width, float* const planes[3]) {
  WidenRow(samples, channels, width, Plain(), planes);
  return AllInRange(channels, width, planes);
}

HWY_INLINE uint16_t HighProduct(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((static_cast<uint32_t>(a) * b) >> 16);
}

void Luma8(const FixedLuma& luma, const uint8_t* const planes[3], int width,
           uint8_t* __restrict out) {
  const uint8_t* p0 = planes[0];
  const uint8_t* p1 = planes[1];
  const uint8_t* p2 = planes[2];
  const uint16_t w0 = luma.weight[0], w1 = luma.weight[1], w2 = luma.weight[2];
  const uint16_t offset = luma.offset;
  for (int x = 0; x < width; ++x) {
    const uint16_t sum = HighProduct(static_cast<uint16_t>(p0[x] << 8), w0) +
                         HighProduct(static_cast<uint16_t>(p1[x] << 8), w1) +
                         HighProduct(static_cast<uint16_t>(p2[x] << 8), w2) + offset;
    out[x] = static_cast<uint8_t>(sum >> 8);
  }
}

void Block8(const uint8_t* top, const uint8_t* bottom, int width, bool halve,
            uint16_t* __restrict out) {
  if (halve) {
    for (int x = 0; x < width; ++x) {
      out[x] = static_cast<uint16_t>(
          (top[2 * x] + top[2 * x + 1] + bottom[2 * x] + bottom[2 * x + 1]) << 5);
    }
    return;
  }
  for (int x = 0; x < width; ++x) out[x] = static_cast<uint16_t>((top[x] + bottom[x]) << 6);
}

void Chroma8(const FixedChroma& chroma, const uint16_t* const planes[3], int width,
             uint8_t* __restrict out) {
  const uint16_t* up = planes[chroma.up];
  const uint16_t* down0 = planes[chroma.down[0]];
  const uint16_t* down1 = planes[chroma.down[1]];
  const uint16_t w = chroma.up_weight, w0 = chroma.down_weight[0], w1 = chroma.down_weight[1];
  const uint16_t offset = chroma.offset;
  for (int x = 0; x < width; ++x) {
    const uint16_t sum = static_cast<uint16_t>(
        offset + HighProduct(up[x], w) - HighProduct(down0[x], w0) - HighProduct(down1[x], w1));
    const uint16_t value = sum >> 7;
    out[x] = static_cast<uint8_t>(value < 255 ? value : 255);
  }
}

void Block(const float* top, const float* bottom, int width, bool halve, float* __restrict out) {
  if (halve) {
    for (int x = 0; x < width; ++x) {
      out[x] = ((top[2 * x] + top[2 * x + 1]) + (bottom[2 * x] + bottom[2 * x + 1])) * 0.25f;
    }
    return;
  }
  for (int x = 0; x < width; ++x) out[x] = (top[x] + bottom[x]) * 0.5f;
}

template <typename Out>
HWY_INLINE Out RoundAndClip(float value, float max) {
  value = value > 0.0f ? value : 0.0f;
  value = value < max ? value : max;
  return static_cast<Out>(static_cast<int32_t>(value + 0.5f));
}

template <typename Out>
void Weigh(const FloatWeights& weights, const float* const planes[3], int width,
           Out* __restrict out) {
  const float* p0 = planes[0];
  const float* p1 = planes[1];
  const float* p2 = planes[2];
  const float w0 = weights.weight[0], w1 = weights.weight[1], w2 = weights.weight[2];
  const float offset = weights.offset, max = weights.max;
  for (int x = 0; x < width; ++x) {
    out[x] = RoundAndClip<Out>(((p0[x] * w0 + p1[x] * w1) + p2[x] * w2) + offset, max);
  }
}

template <typename Out>
void Scale(const FloatWeights& weights, const float* plane, int width, Out* __restrict out) {
  const float w = weights.weight[0], offset = weights.offset, max = weights.max;
  for (int x = 0; x < width; ++x) out[x] = RoundAndClip<Out>(plane[x] * w + offset, max);
}

constexpr RgbRowKernels kRgbRowKernels = {
    Split8,  Widen8, Widen16,        WidenHalf,       WidenFloat,     Luma8,          Block8,
    Chroma8, Block,  Weigh<uint8_t>, Weigh<uint16_t>, Scale<uint8_t>, Scale<uint16_t>};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {
const RgbRowKernels& GetRgbRowKernels(Simd simd) { return NVC_CHOOSE(simd, kRgbRowKernels); }
}  // namespace nvc
#endif  // HWY_ONCE
