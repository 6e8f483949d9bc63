#include "tf_nvcodec/core/rows/rgb_rows.h"

#include <cstring>

#ifdef NVC_HAVE_X86_SIMD
#include <immintrin.h>
#endif

#define NVC_INLINE inline __attribute__((always_inline))

namespace nvc {
namespace {

// The bodies are compiled once for each instruction set. Integers and single float operations come
// out the same whatever the vector width.

NVC_INLINE void Split8(const uint8_t* pixels, int begin, int width, uint8_t* const planes[3]) {
  uint8_t* __restrict p0 = planes[0];
  uint8_t* __restrict p1 = planes[1];
  uint8_t* __restrict p2 = planes[2];
  for (int x = begin; x < width; ++x) {
    p0[x] = pixels[3 * x];
    p1[x] = pixels[3 * x + 1];
    p2[x] = pixels[3 * x + 2];
  }
}

struct Plain {
  template <typename T>
  NVC_INLINE float operator()(T sample) const {
    return static_cast<float>(sample);
  }
};

struct FromHalf {
  NVC_INLINE float operator()(uint16_t half) const {
    // Exponent and mantissa land 112 powers of two too low; the product mends that, subnormals
    // included. Infinities and NaNs come out above 65504, which is out of range as they should be.
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
NVC_INLINE void WidenRow(const T* samples, int channels, int width, Widen widen,
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

NVC_INLINE bool InRange(const float* plane, int width) {
  int outside = 0;
  for (int x = 0; x < width; ++x) outside |= !(plane[x] >= -1.0f) | !(plane[x] <= 2.0f);
  return outside == 0;
}

NVC_INLINE bool AllInRange(int channels, int width, float* const planes[3]) {
  bool in_range = true;
  for (int c = 0; c < channels; ++c) in_range &= InRange(planes[c], width);
  return in_range;
}

NVC_INLINE uint16_t HighProduct(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>((static_cast<uint32_t>(a) * b) >> 16);
}

NVC_INLINE void Luma8(const FixedLuma& luma, const uint8_t* const planes[3], int width,
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

NVC_INLINE void Block8(const uint8_t* top, const uint8_t* bottom, int width, bool halve,
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

NVC_INLINE void Chroma8(const FixedChroma& chroma, const uint16_t* const planes[3], int width,
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

NVC_INLINE void Block(const float* top, const float* bottom, int width, bool halve,
                      float* __restrict out) {
  if (halve) {
    for (int x = 0; x < width; ++x) {
      out[x] = ((top[2 * x] + top[2 * x + 1]) + (bottom[2 * x] + bottom[2 * x + 1])) * 0.25f;
    }
    return;
  }
  for (int x = 0; x < width; ++x) out[x] = (top[x] + bottom[x]) * 0.5f;
}

template <typename Out>
NVC_INLINE Out RoundAndClip(float value, float max) {
  value = value > 0.0f ? value : 0.0f;
  value = value < max ? value : max;
  return static_cast<Out>(static_cast<int32_t>(value + 0.5f));
}

template <typename Out>
NVC_INLINE void Weigh(const FloatWeights& weights, const float* const planes[3], int width,
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
NVC_INLINE void Scale(const FloatWeights& weights, const float* plane, int width,
                      Out* __restrict out) {
  const float w = weights.weight[0], offset = weights.offset, max = weights.max;
  for (int x = 0; x < width; ++x) out[x] = RoundAndClip<Out>(plane[x] * w + offset, max);
}

#define NVC_ROW_KERNELS(ATTRIBUTE)                                                                 \
  ATTRIBUTE void RunWiden8(const uint8_t* samples, int channels, int width,                        \
                           float* const planes[3]) {                                               \
    WidenRow(samples, channels, width, Plain(), planes);                                           \
  }                                                                                                \
  ATTRIBUTE void RunWiden16(const uint16_t* samples, int channels, int width,                      \
                            float* const planes[3]) {                                              \
    WidenRow(samples, channels, width, Plain(), planes);                                           \
  }                                                                                                \
  ATTRIBUTE bool RunWidenHalf(const uint16_t* samples, int channels, int width,                    \
                              float* const planes[3]) {                                            \
    WidenRow(samples, channels, width, FromHalf(), planes);                                        \
    return AllInRange(channels, width, planes);                                                    \
  }                                                                                                \
  ATTRIBUTE bool RunWidenFloat(const float* samples, int channels, int width,                      \
                               float* const planes[3]) {                                           \
    WidenRow(samples, channels, width, Plain(), planes);                                           \
    return AllInRange(channels, width, planes);                                                    \
  }                                                                                                \
  ATTRIBUTE void RunLuma8(const FixedLuma& luma, const uint8_t* const planes[3], int width,        \
                          uint8_t* out) {                                                          \
    Luma8(luma, planes, width, out);                                                               \
  }                                                                                                \
  ATTRIBUTE void RunBlock8(const uint8_t* top, const uint8_t* bottom, int width, bool halve,       \
                           uint16_t* out) {                                                        \
    Block8(top, bottom, width, halve, out);                                                        \
  }                                                                                                \
  ATTRIBUTE void RunChroma8(const FixedChroma& chroma, const uint16_t* const planes[3], int width, \
                            uint8_t* out) {                                                        \
    Chroma8(chroma, planes, width, out);                                                           \
  }                                                                                                \
  ATTRIBUTE void RunBlock(const float* top, const float* bottom, int width, bool halve,            \
                          float* out) {                                                            \
    Block(top, bottom, width, halve, out);                                                         \
  }                                                                                                \
  ATTRIBUTE void RunWeighTo8(const FloatWeights& weights, const float* const planes[3], int width, \
                             uint8_t* out) {                                                       \
    Weigh(weights, planes, width, out);                                                            \
  }                                                                                                \
  ATTRIBUTE void RunWeighTo16(const FloatWeights& weights, const float* const planes[3],           \
                              int width, uint16_t* out) {                                          \
    Weigh(weights, planes, width, out);                                                            \
  }                                                                                                \
  ATTRIBUTE void RunScaleTo8(const FloatWeights& weights, const float* plane, int width,           \
                             uint8_t* out) {                                                       \
    Scale(weights, plane, width, out);                                                             \
  }                                                                                                \
  ATTRIBUTE void RunScaleTo16(const FloatWeights& weights, const float* plane, int width,          \
                              uint16_t* out) {                                                     \
    Scale(weights, plane, width, out);                                                             \
  }                                                                                                \
  constexpr RgbRowKernels kKernels = {                                                             \
      RunSplit8,  RunWiden8, RunWiden16,  RunWidenHalf, RunWidenFloat, RunLuma8,    RunBlock8,     \
      RunChroma8, RunBlock,  RunWeighTo8, RunWeighTo16, RunScaleTo8,   RunScaleTo16};

namespace portable {
void RunSplit8(const uint8_t* pixels, int width, uint8_t* const planes[3]) {
  Split8(pixels, 0, width, planes);
}
NVC_ROW_KERNELS()
}  // namespace portable

#ifdef NVC_HAVE_X86_SIMD
namespace avx2 {

// Picks every third byte, from `first` on, of 48 bytes.
NVC_AVX2 NVC_INLINE __m128i EveryThird(__m128i a, __m128i b, __m128i c, int first) {
  alignas(16) int8_t pick[3][16];
  for (int i = 0; i < 16; ++i) {
    const int byte = 3 * i + first;
    for (int block = 0; block < 3; ++block) {
      pick[block][i] = static_cast<int8_t>(byte / 16 == block ? byte % 16 : -1);
    }
  }
  const auto mask = [&](int block) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(pick[block]));
  };
  return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, mask(0)), _mm_shuffle_epi8(b, mask(1))),
                      _mm_shuffle_epi8(c, mask(2)));
}

NVC_AVX2 void RunSplit8(const uint8_t* pixels, int width, uint8_t* const planes[3]) {
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    const __m128i* const in = reinterpret_cast<const __m128i*>(pixels + 3 * x);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    for (int channel = 0; channel < 3; ++channel) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(planes[channel] + x),
                       EveryThird(a, b, c, channel));
    }
  }
  Split8(pixels, x, width, planes);
}
NVC_ROW_KERNELS(NVC_AVX2)
}  // namespace avx2
#endif

}  // namespace

const RgbRowKernels& RgbRows(Simd simd) {
#ifdef NVC_HAVE_X86_SIMD
  if (simd == Simd::kAvx2) return avx2::kKernels;
#endif
  return portable::kKernels;
}

}  // namespace nvc
