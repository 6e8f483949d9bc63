#include "tf_nvcodec/core/resample_rows.h"

namespace nvc {
namespace {

template <typename T>
inline void ToFloat(const T* from, int count, float* to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <typename T>
inline void Pick(const T* from, const int32_t* start, int count, float* to) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<float>(from[start[i]]);
}

template <typename T>
inline void Dot2(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    const T* at = from + start[i];
    to[i] =
        weights[2 * i] * static_cast<float>(at[0]) + weights[2 * i + 1] * static_cast<float>(at[1]);
  }
}

template <typename T>
inline void Dot4(const T* from, const int32_t* start, const float* weights, int count, float* to) {
  for (int i = 0; i < count; ++i) {
    const T* at = from + start[i];
    const float* w = weights + 4 * i;
    to[i] = (w[0] * static_cast<float>(at[0]) + w[1] * static_cast<float>(at[1])) +
            (w[2] * static_cast<float>(at[2]) + w[3] * static_cast<float>(at[3]));
  }
}

template <typename T>
inline void Add(const T* row, float weight, bool first, int count, float* sum) {
  if (first) {
    for (int i = 0; i < count; ++i) sum[i] = weight * static_cast<float>(row[i]);
  } else {
    for (int i = 0; i < count; ++i) sum[i] += weight * static_cast<float>(row[i]);
  }
}

}  // namespace

void ToFloatRow(const uint8_t* from, int count, float* to) { ToFloat(from, count, to); }
void ToFloatRow(const uint16_t* from, int count, float* to) { ToFloat(from, count, to); }

void PickRow(const uint8_t* from, const int32_t* start, int count, float* to) {
  Pick(from, start, count, to);
}
void PickRow(const uint16_t* from, const int32_t* start, int count, float* to) {
  Pick(from, start, count, to);
}

void DotRow2(const uint8_t* from, const int32_t* start, const float* weights, int count,
             float* to) {
  Dot2(from, start, weights, count, to);
}
void DotRow2(const uint16_t* from, const int32_t* start, const float* weights, int count,
             float* to) {
  Dot2(from, start, weights, count, to);
}
void DotRow4(const uint8_t* from, const int32_t* start, const float* weights, int count,
             float* to) {
  Dot4(from, start, weights, count, to);
}
void DotRow4(const uint16_t* from, const int32_t* start, const float* weights, int count,
             float* to) {
  Dot4(from, start, weights, count, to);
}

void DotRow8(const float* from, const int32_t* start, const float* weights, int taps, int count,
             float* to) {
  for (int i = 0; i < count; ++i) {
    const float* at = from + start[i];
    const float* w = weights + static_cast<int64_t>(i) * taps;
    float sums[8];
    for (int k = 0; k < 8; ++k) sums[k] = w[k] * at[k];
    for (int k = 8; k < taps; ++k) sums[k & 7] += w[k] * at[k];
    to[i] =
        ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
}

void BlendRows(const float* const* rows, const float* weights, int taps, int count, float* to) {
  for (int i = 0; i < count; ++i) to[i] = weights[0] * rows[0][i];
  for (int k = 1; k < taps; ++k) {
    for (int i = 0; i < count; ++i) to[i] += weights[k] * rows[k][i];
  }
}

void AddRow(const uint8_t* row, float weight, bool first, int count, float* sum) {
  Add(row, weight, first, count, sum);
}
void AddRow(const uint16_t* row, float weight, bool first, int count, float* sum) {
  Add(row, weight, first, count, sum);
}

}  // namespace nvc
