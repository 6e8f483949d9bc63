#include "tf_nvcodec/core/convert/chroma_upsampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nvc {

ChromaUpsampler::ChromaUpsampler(PlaneReader reader, ChromaSiting siting, int left, int width)
    : kernels_(GetChromaRowKernels(BestSimd())), reader_(std::move(reader)), siting_(siting) {
  const int log2 = reader_.log2_width();
  // One more sample on either side to blend with.
  first_ = (left >> log2) - log2;
  count_ = ((width + log2) >> log2) + 2 * log2;
  for (auto& row : source_rows_) row.resize(count_);
  blended_.resize(count_);
  even_.resize(count_);
  odd_.resize(count_);
  row_.resize(static_cast<size_t>(count_) << log2);
  Begin();
}

void ChromaUpsampler::Begin() { std::fill(source_row_of_, source_row_of_ + 2, -1); }

ChromaUpsampler::Position ChromaUpsampler::PositionOf(int i, int siting) {
  // Sample j lies at luma pixel 2 j + 0.5 + siting / 2.
  const double position = (i - 0.5 - 0.5 * siting) / 2;
  const double first = std::floor(position);
  return {static_cast<int>(first), static_cast<int16_t>(std::lround((position - first) * 32768))};
}

const int16_t* ChromaUpsampler::SourceRow(const AVFrame& frame, int y) {
  y = std::clamp(y, 0, reader_.height() - 1);
  std::vector<int16_t>& row = source_rows_[y % 2];
  if (source_row_of_[y % 2] == y) return row.data();
  source_row_of_[y % 2] = y;
  const int begin = std::max(first_, 0), end = std::min(first_ + count_, reader_.width());
  const void* from = reader_.Row(frame, y, begin, end - begin);
  int16_t* to = row.data() + (begin - first_);
  const int left = std::max(0, 15 - reader_.depth()), right = std::max(0, reader_.depth() - 15);
  if (reader_.wide()) {
    kernels_.fractions16(static_cast<const uint16_t*>(from), left, right, end - begin, to);
  } else {
    kernels_.fractions8(static_cast<const uint8_t*>(from), left, end - begin, to);
  }
  std::fill(row.data(), to, to[0]);
  std::fill(to + (end - begin), row.data() + count_, to[end - begin - 1]);
  return row.data();
}

const uint16_t* ChromaUpsampler::Row(const AVFrame& frame, int y) {
  const int16_t* samples;
  if (reader_.log2_height() == 0) {
    samples = SourceRow(frame, y);
  } else {
    const Position at = PositionOf(y, siting_.y);
    const int16_t* above = SourceRow(frame, at.first);
    const int16_t* below = SourceRow(frame, at.first + 1);
    kernels_.blend(above, below, at.weight, count_, blended_.data());
    samples = blended_.data();
  }
  if (reader_.log2_width() == 0) return reinterpret_cast<const uint16_t*>(samples);
  // Sample j of the plane, which is samples[j - first_], gives output pixels 2 j and 2 j + 1.
  const int pairs = count_ - 2;
  int16_t* const phases[2] = {even_.data(), odd_.data()};
  for (int p = 0; p < 2; ++p) {
    const Position at = PositionOf(p, siting_.x);
    const int16_t* from = samples + 1 + at.first;
    kernels_.blend(from, from + 1, at.weight, pairs, phases[p]);
  }
  kernels_.zip(even_.data(), odd_.data(), pairs, row_.data());
  return row_.data();
}

}  // namespace nvc
