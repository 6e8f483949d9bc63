#include "tf_nvcodec/core/rows/yuv_rgb_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tf_nvcodec/core/rows/yuv_rgb_rows.cc"
#include "hwy/foreach_target.h"
// This comes after foreach_target.h, which includes this file once for each instruction set.
#include "tf_nvcodec/core/rows/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nvc {
namespace HWY_NAMESPACE {
namespace {

#if NVC_HAS_VECTORS

using V16 = Vector<int16_t>;
constexpr int kStep = kLanes<uint8_t>;
constexpr Tag<int16_t> kWords;
constexpr Tag<uint16_t> kUnsigned;
constexpr Tag<uint8_t> kBytes;

// The 16-bit values of kStep pixels. Interleaving bytes with zeros splits the pixels into these two
// vectors, and Narrow joins them in order again. ChromaTerms keeps them split.
struct Split {
  V16 low, high;
};

HWY_INLINE Split ToFractions(const YuvRgbFactors&, const uint8_t* from) {
  const auto bytes = hn::LoadU(kBytes, from), zero = hn::Zero(kBytes);
  const auto low = hn::BitCast(kUnsigned, hn::InterleaveLower(kBytes, zero, bytes));
  const auto high = hn::BitCast(kUnsigned, hn::InterleaveUpper(kBytes, zero, bytes));
  return {hn::BitCast(kWords, hn::ShiftRight<1>(low)),
          hn::BitCast(kWords, hn::ShiftRight<1>(high))};
}
HWY_INLINE V16 Shift(const YuvRgbFactors& f, const uint16_t* from) {
  const auto words = hn::LoadU(kUnsigned, from);
  return hn::BitCast(kWords, hn::ShiftRightSame(hn::ShiftLeftSame(words, f.left), f.right));
}
HWY_INLINE Split ToFractions(const YuvRgbFactors& f, const uint16_t* from) {
  Split words = {Shift(f, from), Shift(f, from + kLanes<uint16_t>)};
  SwapBlocks<int16_t>(&words.low, &words.high);
  return words;
}

HWY_INLINE V16 HalfFractions(const YuvRgbFactors&, const uint8_t* from) {
  const hn::Half<Tag<uint8_t>> half;
  return hn::ShiftLeft<7>(hn::PromoteTo(kWords, hn::LoadU(half, from)));
}
HWY_INLINE V16 HalfFractions(const YuvRgbFactors& f, const uint16_t* from) {
  return Shift(f, from);
}

struct Terms {
  V16 red, green, blue;
};

HWY_INLINE Terms TermsOf(const YuvRgbFactors& f, V16 cb, V16 cr) {
  const V16 middle = hn::Set(kWords, 0x4000), half = hn::Set(kWords, ChromaTerms::kHalf);
  cb = hn::Sub(cb, middle);
  cr = hn::Sub(cr, middle);
  const V16 red = hn::MulFixedPoint15(cr, hn::Set(kWords, f.cr_to_r));
  const V16 blue = hn::MulFixedPoint15(cb, hn::Set(kWords, f.cb_to_b));
  const V16 green = hn::Add(hn::MulFixedPoint15(cb, hn::Set(kWords, f.cb_to_g)),
                            hn::MulFixedPoint15(cr, hn::Set(kWords, f.cr_to_g)));
  return {hn::Add(red, half), hn::Add(green, half), hn::Add(blue, half)};
}

HWY_INLINE void StoreSplit(V16 low, V16 high, int16_t* to) {
  hn::StoreU(low, kWords, to);
  hn::StoreU(high, kWords, to + kLanes<int16_t>);
}
// Stores each word twice.
HWY_INLINE void StoreTwice(V16 words, int16_t* to) {
  StoreSplit(hn::InterleaveLower(kWords, words, words), hn::InterleaveUpper(kWords, words, words),
             to);
}

template <typename T>
HWY_INLINE void ChromaBlock(const YuvRgbFactors& f, const T* cb, const T* cr, int log2, int at,
                            ChromaTerms* terms) {
  if (log2 == 1) {
    const Terms t = TermsOf(f, HalfFractions(f, cb), HalfFractions(f, cr));
    StoreTwice(t.red, terms->red() + at);
    StoreTwice(t.green, terms->green() + at);
    StoreTwice(t.blue, terms->blue() + at);
    return;
  }
  const Split u = ToFractions(f, cb), v = ToFractions(f, cr);
  const Terms low = TermsOf(f, u.low, v.low), high = TermsOf(f, u.high, v.high);
  StoreSplit(low.red, high.red, terms->red() + at);
  StoreSplit(low.green, high.green, terms->green() + at);
  StoreSplit(low.blue, high.blue, terms->blue() + at);
}

template <typename T>
void Chroma(const YuvRgbFactors& f, const T* cb, const T* cr, int log2, int count,
            ChromaTerms* terms) {
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

HWY_INLINE Split LumaOf(const YuvRgbFactors& f, Split y) {
  const V16 offset = hn::Set(kWords, f.luma_offset), factor = hn::Set(kWords, f.y);
  return {hn::MulFixedPoint15(hn::Sub(y.low, offset), factor),
          hn::MulFixedPoint15(hn::Sub(y.high, offset), factor)};
}

HWY_INLINE Vector<uint8_t> Sum(const Split& luma, V16 low, V16 high) {
  return Narrow(hn::ShiftRight<5>(hn::Add(luma.low, low)),
                hn::ShiftRight<5>(hn::Add(luma.high, high)));
}

template <typename T>
HWY_INLINE void Colors(const YuvRgbFactors& f, const T* luma, const int16_t* const terms[3], int at,
                       Vector<uint8_t> colors[3]) {
  const Split y = LumaOf(f, ToFractions(f, luma));
  for (int c = 0; c < 3; ++c) {
    colors[c] = Sum(y, hn::LoadU(kWords, terms[c] + at),
                    hn::LoadU(kWords, terms[c] + at + kLanes<int16_t>));
  }
}

template <bool kStream, typename T>
HWY_INLINE void PackedRow(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms,
                          int count, bool bgr, uint8_t* to) {
  const int16_t* const order[3] = {bgr ? terms.blue() : terms.red(), terms.green(),
                                   bgr ? terms.red() : terms.blue()};
  Vector<uint8_t> colors[3];
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    Colors(f, luma + i, order, i, colors);
    StoreTriples<uint8_t>(kStream, colors, to + 3 * i);
  }
  if (i == count) return;
  T last[kStep] = {};
  uint8_t triples[3 * kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  Colors(f, last, order, i, colors);
  StoreTriples<uint8_t>(/*stream=*/false, colors, triples);
  memcpy(to + 3 * i, triples, 3 * (count - i));
}

template <typename T>
void Packed(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool bgr,
            bool stream, uint8_t* to) {
  if (stream && CanStream(to)) return PackedRow<true>(f, luma, terms, count, bgr, to);
  PackedRow<false>(f, luma, terms, count, bgr, to);
}

template <bool kStream, typename T>
HWY_INLINE void PlanarRow(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms,
                          int count, uint8_t* const rgb[3]) {
  const int16_t* const order[3] = {terms.red(), terms.green(), terms.blue()};
  Vector<uint8_t> colors[3];
  int i = 0;
  for (; i + kStep <= count; i += kStep) {
    Colors(f, luma + i, order, i, colors);
    for (int c = 0; c < 3; ++c) StoreRow<uint8_t>(kStream, colors[c], rgb[c] + i);
  }
  if (i == count) return;
  T last[kStep] = {};
  uint8_t bytes[kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  Colors(f, last, order, i, colors);
  for (int c = 0; c < 3; ++c) {
    hn::StoreU(colors[c], kBytes, bytes);
    memcpy(rgb[c] + i, bytes, count - i);
  }
}

template <typename T>
void Planar(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool stream,
            uint8_t* const rgb[3]) {
  if (stream && CanStream(rgb[0]) && CanStream(rgb[1]) && CanStream(rgb[2])) {
    return PlanarRow<true>(f, luma, terms, count, rgb);
  }
  PlanarRow<false>(f, luma, terms, count, rgb);
}

template <typename T>
HWY_INLINE Vector<uint8_t> GrayBlock(const YuvRgbFactors& f, const T* luma) {
  const V16 half = hn::Set(kWords, ChromaTerms::kHalf);
  return Sum(LumaOf(f, ToFractions(f, luma)), half, half);
}

template <typename T>
void Gray(const YuvRgbFactors& f, const T* luma, int count, uint8_t* to) {
  int i = 0;
  for (; i + kStep <= count; i += kStep) hn::StoreU(GrayBlock(f, luma + i), kBytes, to + i);
  if (i == count) return;
  T last[kStep] = {};
  uint8_t bytes[kStep];
  memcpy(last, luma + i, (count - i) * sizeof(T));
  hn::StoreU(GrayBlock(f, last), kBytes, bytes);
  memcpy(to + i, bytes, count - i);
}

#else  // plain loops

inline int16_t ToFraction(const YuvRgbFactors& f, int code) {
  return static_cast<int16_t>(static_cast<uint16_t>(code << f.left) >> f.right);
}

// Does what the instruction PMULHRSW does.
inline int MultiplyRounded(int16_t a, int16_t b) { return (a * b + 0x4000) >> 15; }

inline uint8_t Clamp(int value) {
  return static_cast<uint8_t>(std::min(255, std::max(0, value >> 5)));
}

template <typename T>
void Chroma(const YuvRgbFactors& f, const T* cb, const T* cr, int log2, int count,
            ChromaTerms* terms) {
  int16_t *red = terms->red(), *green = terms->green(), *blue = terms->blue();
  for (int i = 0; i < count; ++i) {
    const int16_t u = static_cast<int16_t>(ToFraction(f, cb[i >> log2]) - 0x4000);
    const int16_t v = static_cast<int16_t>(ToFraction(f, cr[i >> log2]) - 0x4000);
    red[i] = static_cast<int16_t>(MultiplyRounded(v, f.cr_to_r) + ChromaTerms::kHalf);
    green[i] = static_cast<int16_t>(MultiplyRounded(u, f.cb_to_g) + MultiplyRounded(v, f.cr_to_g) +
                                    ChromaTerms::kHalf);
    blue[i] = static_cast<int16_t>(MultiplyRounded(u, f.cb_to_b) + ChromaTerms::kHalf);
  }
}

inline int Luma(const YuvRgbFactors& f, int code) {
  return MultiplyRounded(static_cast<int16_t>(ToFraction(f, code) - f.luma_offset), f.y);
}

template <typename T>
void Planar(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool stream,
            uint8_t* const rgb[3]) {
  const int16_t *red = terms.red(), *green = terms.green(), *blue = terms.blue();
  for (int i = 0; i < count; ++i) {
    const int y = Luma(f, luma[i]);
    rgb[0][i] = Clamp(y + red[i]);
    rgb[1][i] = Clamp(y + green[i]);
    rgb[2][i] = Clamp(y + blue[i]);
  }
}

template <typename T>
void Packed(const YuvRgbFactors& f, const T* luma, const ChromaTerms& terms, int count, bool bgr,
            bool stream, uint8_t* to) {
  const int16_t* first = bgr ? terms.blue() : terms.red();
  const int16_t* green = terms.green();
  const int16_t* last = bgr ? terms.red() : terms.blue();
  for (int i = 0; i < count; ++i) {
    const int y = Luma(f, luma[i]);
    to[3 * i] = Clamp(y + first[i]);
    to[3 * i + 1] = Clamp(y + green[i]);
    to[3 * i + 2] = Clamp(y + last[i]);
  }
}

template <typename T>
void Gray(const YuvRgbFactors& f, const T* luma, int count, uint8_t* to) {
  for (int i = 0; i < count; ++i) to[i] = Clamp(Luma(f, luma[i]) + ChromaTerms::kHalf);
}

#endif

template <typename T>
constexpr SampleToRgbKernels<T> kSampleToRgb = {Chroma<T>, Planar<T>, Packed<T>, Gray<T>};
constexpr YuvRgbKernels kYuvRgbKernels = {kSampleToRgb<uint8_t>, kSampleToRgb<uint16_t>,
                                          hwy::FlushStream};

}  // namespace

}  // namespace HWY_NAMESPACE
}  // namespace nvc
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nvc {

YuvRgbFactors MakeYuvRgbFactors(const YuvToRgb& yuv_to_rgb, int depth) {
  // The product of a 15-bit fraction and this scale, shifted right by 15, is in 0..255 with 5 bits
  // after the point.
  const double scale = 255.0 * 32 * (1 << depth);
  const auto factor = [&](int row, int column) {
    return static_cast<int16_t>(std::lround(yuv_to_rgb.matrix[row][column] * scale));
  };
  YuvRgbFactors f;
  f.y = factor(0, 0);
  f.cr_to_r = factor(0, 2);
  f.cb_to_g = factor(1, 1);
  f.cr_to_g = factor(1, 2);
  f.cb_to_b = factor(2, 1);
  f.luma_offset = static_cast<int16_t>(std::lround(yuv_to_rgb.luma_offset * 32768 / (1 << depth)));
  f.left = std::max(0, 15 - depth);
  f.right = std::max(0, depth - 15);
  return f;
}

ChromaTerms::ChromaTerms(int width)
    : stride_((static_cast<size_t>(width) + kBlock - 1) / kBlock * kBlock),
      terms_(3 * stride_, kHalf) {}

const YuvRgbKernels& GetYuvRgbKernels(Simd simd) { return NVC_CHOOSE(simd, kYuvRgbKernels); }

}  // namespace nvc
#endif  // HWY_ONCE
