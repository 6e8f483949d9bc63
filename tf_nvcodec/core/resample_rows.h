// The inner loops of resampling. Each gives the same bits with and without AVX2.
#ifndef TF_NVCODEC_CORE_RESAMPLE_ROWS_H_
#define TF_NVCODEC_CORE_RESAMPLE_ROWS_H_

#include <cstdint>

namespace nvc {

// to[i] = from[i].
void ToFloatRow(const uint8_t* from, int count, float* to);
void ToFloatRow(const uint16_t* from, int count, float* to);

// to[i] = from[start[i]].
void PickRow(const uint8_t* from, const int32_t* start, int count, float* to);
void PickRow(const uint16_t* from, const int32_t* start, int count, float* to);

// to[i] = sum over k < taps of weights[i * taps + k] * from[start[i] + k], taps 2 or 4.
void DotRow2(const uint8_t* from, const int32_t* start, const float* weights, int count, float* to);
void DotRow2(const uint16_t* from, const int32_t* start, const float* weights, int count,
             float* to);
void DotRow4(const uint8_t* from, const int32_t* start, const float* weights, int count, float* to);
void DotRow4(const uint16_t* from, const int32_t* start, const float* weights, int count,
             float* to);
// The same for taps a multiple of 8.
void DotRow8(const float* from, const int32_t* start, const float* weights, int taps, int count,
             float* to);

// to[i] = sum over k of weights[k] * rows[k][i].
void BlendRows(const float* const* rows, const float* weights, int taps, int count, float* to);
// sum[i] = (first ? 0 : sum[i]) + weight * row[i].
void AddRow(const uint8_t* row, float weight, bool first, int count, float* sum);
void AddRow(const uint16_t* row, float weight, bool first, int count, float* sum);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_RESAMPLE_ROWS_H_
