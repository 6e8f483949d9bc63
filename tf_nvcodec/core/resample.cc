#include "tf_nvcodec/core/resample.h"

#include <algorithm>
#include <utility>

#include "tf_nvcodec/core/resample_rows.h"

namespace nvc {
namespace {

// Above this many source rows an output row, resampling columns first touches fewer samples.
constexpr int kMaxCachedTaps = 4;

}  // namespace

PlaneResampler::PlaneResampler(PlaneReader reader, Axis x, Axis y)
    : reader_(std::move(reader)), x_(std::move(x)), y_(std::move(y)) {
  columns_first_ = y_.taps > kMaxCachedTaps;
  if (x_.identity) {
    horizontal_ = Horizontal::kCopy;
  } else if (columns_first_) {
    horizontal_ = Horizontal::kDot8;
  } else if (x_.taps == 1) {
    horizontal_ = Horizontal::kPick;
  } else if (x_.taps == 2) {
    horizontal_ = Horizontal::kDot2;
  } else if (x_.taps <= 4 && PadTaps(4, reader_.width(), &x_)) {
    horizontal_ = Horizontal::kDot4;
  } else {
    horizontal_ = Horizontal::kDot8;
  }
  read_left_ = x_.begin;
  read_count_ = x_.end - x_.begin;
  if (horizontal_ == Horizontal::kDot8) {
    const int taps = (x_.taps + 7) / 8 * 8;
    PadTaps(taps, x_.end + taps, &x_);
  }
  for (int start : x_.start) start_.push_back(start - read_left_);
  source_row_.resize(read_count_ + x_.taps + 8);
  output_row_.resize(x_.count());
  if (!columns_first_) {
    cache_.resize(static_cast<size_t>(x_.count()) * y_.taps);
    cached_.resize(y_.taps);
    blend_.resize(y_.taps);
  }
}

void PlaneResampler::Begin(const AVFrame& frame) {
  frame_ = &frame;
  std::fill(cached_.begin(), cached_.end(), -1);
}

const float* PlaneResampler::Row(int i) { return columns_first_ ? ColumnsFirst(i) : RowsFirst(i); }

template <typename T>
void PlaneResampler::Resample(const T* from, float* to) {
  const int count = x_.count();
  switch (horizontal_) {
    case Horizontal::kCopy:
      ToFloatRow(from, count, to);
      break;
    case Horizontal::kPick:
      PickRow(from, start_.data(), count, to);
      break;
    case Horizontal::kDot2:
      DotRow2(from, start_.data(), x_.weights.data(), count, to);
      break;
    case Horizontal::kDot4:
      DotRow4(from, start_.data(), x_.weights.data(), count, to);
      break;
    case Horizontal::kDot8:
      ToFloatRow(from, read_count_, source_row_.data());
      DotRow8(source_row_.data(), start_.data(), x_.weights.data(), x_.taps, count, to);
      break;
  }
}

const float* PlaneResampler::ResampledRow(int y) {
  const int slot = y % y_.taps;
  float* to = cache_.data() + static_cast<size_t>(slot) * x_.count();
  if (cached_[slot] == y) return to;
  cached_[slot] = y;
  const void* row = reader_.Row(*frame_, y, read_left_, read_count_);
  if (reader_.wide()) {
    Resample(static_cast<const uint16_t*>(row), to);
  } else {
    Resample(static_cast<const uint8_t*>(row), to);
  }
  return to;
}

const float* PlaneResampler::RowsFirst(int i) {
  const int start = y_.start[i];
  if (y_.taps == 1) return ResampledRow(start);
  const float* weights = y_.weights.data() + static_cast<size_t>(i) * y_.taps;
  for (int k = 0; k < y_.taps; ++k) blend_[k] = ResampledRow(start + k);
  BlendRows(blend_.data(), weights, y_.taps, x_.count(), output_row_.data());
  return output_row_.data();
}

const float* PlaneResampler::ColumnsFirst(int i) {
  const float* weights = y_.weights.data() + static_cast<size_t>(i) * y_.taps;
  bool first = true;
  float* sum = horizontal_ == Horizontal::kCopy ? output_row_.data() : source_row_.data();
  for (int k = 0; k < y_.taps; ++k) {
    if (weights[k] == 0 && !(first && k + 1 == y_.taps)) continue;
    const void* row = reader_.Row(*frame_, y_.start[i] + k, read_left_, read_count_);
    if (reader_.wide()) {
      AddRow(static_cast<const uint16_t*>(row), weights[k], first, read_count_, sum);
    } else {
      AddRow(static_cast<const uint8_t*>(row), weights[k], first, read_count_, sum);
    }
    first = false;
  }
  if (horizontal_ == Horizontal::kCopy) return sum;
  DotRow8(sum, start_.data(), x_.weights.data(), x_.taps, x_.count(), output_row_.data());
  return output_row_.data();
}

}  // namespace nvc
