#include "tf_nvcodec/core/rows/pack_rows.h"

#include <cstring>

#include "tf_nvcodec/core/rows/pack_loops.h"

namespace nvc {
namespace {

using internal::AsHalf;
using internal::AsIs;
using internal::PackLoop;
using internal::RoundTo;

void Map(const LinearMap& map, const float* const x[3], int inputs, int count, float* y) {
  internal::MapAny(map, x, inputs, count, y);
}

void Pack(const float* const from[3], int channels, int count, SampleType type, int shift,
          bool stream, void* to) {
  switch (type) {
    case SampleType::kUint8:
      return PackLoop(from, channels, 0, count, RoundTo{shift}, static_cast<uint8_t*>(to));
    case SampleType::kUint16:
      return PackLoop(from, channels, 0, count, RoundTo{shift}, static_cast<uint16_t*>(to));
    case SampleType::kFloat16:
      return PackLoop(from, channels, 0, count, AsHalf{}, static_cast<uint16_t*>(to));
    case SampleType::kFloat32:
      return PackLoop(from, channels, 0, count, AsIs{}, static_cast<float*>(to));
  }
}

void Fence() {}

void InterleaveBytes(const uint8_t* const from[3], int channels, int count, uint8_t* to) {
  PackLoop(from, channels, 0, count, AsIs{}, to);
}

void InterleaveWords(const uint16_t* const from[3], int channels, int count, uint16_t* to) {
  PackLoop(from, channels, 0, count, AsIs{}, to);
}

void ScaleWords(const uint16_t* from, int right, int highest, int left, int count, uint16_t* to) {
  internal::ScaleLoop(from, right, highest, left, count, to);
}
void NarrowWords(const uint16_t* from, int right, int count, uint8_t* to) {
  internal::ScaleLoop(from, right, 255, 0, count, to);
}
void WidenBytes(const uint8_t* from, int left, int count, uint16_t* to) {
  internal::ScaleLoop(from, 0, 255, left, count, to);
}

}  // namespace

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

const PackKernels& GetPackKernels(Simd simd) {
  static const PackKernels portable = {
      Map, Pack, Fence, InterleaveBytes, InterleaveWords, ScaleWords, NarrowWords, WidenBytes};
#ifdef NVC_HAVE_X86_SIMD
  if (simd == Simd::kAvx2) return internal::Avx2PackKernels();
#endif
  return portable;
}

}  // namespace nvc
