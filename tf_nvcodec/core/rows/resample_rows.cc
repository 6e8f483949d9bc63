#include "tf_nvcodec/core/rows/resample_rows.h"

#include "tf_nvcodec/core/rows/resample_loops.h"

namespace nvc {
namespace {

template <typename T>
void ToFloat(const T* from, int count, float* to) {
  internal::ToFloatLoop(from, count, to);
}

template <typename T>
void Pick(const T* from, const int32_t* start, int count, float* to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[start[i]]);
}

template <typename T>
void Dot2(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    const T* x = from + start[i];
    to[i] = weights[i] * static_cast<float>(x[0]) + weights[count + i] * static_cast<float>(x[1]);
  }
}

template <typename T>
void Dot4(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    const T* x = from + start[i];
    const float* w = weights + 4 * static_cast<int64_t>(i);
    to[i] = (w[0] * static_cast<float>(x[0]) + w[1] * static_cast<float>(x[1])) +
            (w[2] * static_cast<float>(x[2]) + w[3] * static_cast<float>(x[3]));
  }
}

template <typename T>
void AddRows(const T* const* from, const float* weights, int rows, bool first, int count,
             float* sum) {
  internal::SumRows(from, weights, rows, first, count, sum);
}

void Dot8(const float* from, const int32_t* start, const float* weights, int taps, int count,
          float* to) {
  for (int i = 0; i < count; ++i) {
    const float* x = from + start[i];
    const float* w = weights + static_cast<int64_t>(i) * taps;
    float s[8];
    for (int k = 0; k < 8; ++k) s[k] = w[k] * x[k];
    for (int k = 8; k < taps; ++k) s[k % 8] += w[k] * x[k];
    to[i] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  }
}

void BlendRows(const float* const* from, const float* weights, int rows, int count, float* to) {
  internal::SumRows(from, weights, rows, /*first=*/true, count, to);
}

template <typename T>
constexpr SampleKernels<T> PortableSampleKernels() {
  return {ToFloat<T>, Pick<T>, Dot2<T>, Dot4<T>, AddRows<T>};
}

}  // namespace

const ResampleKernels& GetResampleKernels(Simd simd) {
  static const ResampleKernels portable = {PortableSampleKernels<uint8_t>(),
                                           PortableSampleKernels<uint16_t>(), Dot8, BlendRows};
#ifdef NVC_HAVE_X86_SIMD
  if (simd == Simd::kAvx2) return internal::Avx2ResampleKernels();
#endif
  return portable;
}

}  // namespace nvc
