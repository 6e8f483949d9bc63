#include "tf_nvcodec/core/pack_rows.h"

#include <algorithm>
#include <cstring>

namespace nvc {
namespace {

template <int kInputs>
void MapBy(const LinearMap& map, const float* const x[3], int count, float* y) {
  const float* x0 = x[0];
  const float* x1 = kInputs > 1 ? x[1] : nullptr;
  const float* x2 = kInputs > 2 ? x[2] : nullptr;
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

struct RoundTo {
  int shift;
  template <typename T>
  void operator()(float value, T* to) const {
    *to = static_cast<T>(static_cast<int>(value + 0.5f) << shift);
  }
};
struct AsHalf {
  void operator()(float value, uint16_t* to) const { *to = ToHalf(value); }
};
struct AsFloat {
  void operator()(float value, float* to) const { *to = value; }
};

template <typename T, typename Convert>
void PackAs(const float* const from[3], int channels, int count, Convert convert, T* to) {
  if (channels == 1) {
    const float* a = from[0];
    for (int i = 0; i < count; ++i) convert(a[i], to + i);
  } else if (channels == 2) {
    const float *a = from[0], *b = from[1];
    for (int i = 0; i < count; ++i) {
      convert(a[i], to + 2 * i);
      convert(b[i], to + 2 * i + 1);
    }
  } else {
    const float *a = from[0], *b = from[1], *c = from[2];
    for (int i = 0; i < count; ++i) {
      convert(a[i], to + 3 * i);
      convert(b[i], to + 3 * i + 1);
      convert(c[i], to + 3 * i + 2);
    }
  }
}

}  // namespace

void MapRow(const LinearMap& map, const float* const x[3], int inputs, int count, float* y) {
  if (inputs == 1) {
    MapBy<1>(map, x, count, y);
  } else if (inputs == 2) {
    MapBy<2>(map, x, count, y);
  } else {
    MapBy<3>(map, x, count, y);
  }
}

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

void PackRow(const float* const from[3], int channels, int count, SampleType type, int shift,
             void* to) {
  switch (type) {
    case SampleType::kUint8:
      return PackAs(from, channels, count, RoundTo{shift}, static_cast<uint8_t*>(to));
    case SampleType::kUint16:
      return PackAs(from, channels, count, RoundTo{shift}, static_cast<uint16_t*>(to));
    case SampleType::kFloat16:
      return PackAs(from, channels, count, AsHalf{}, static_cast<uint16_t*>(to));
    case SampleType::kFloat32:
      return PackAs(from, channels, count, AsFloat{}, static_cast<float*>(to));
  }
}

}  // namespace nvc
