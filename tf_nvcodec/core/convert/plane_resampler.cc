#include "tf_nvcodec/core/convert/plane_resampler.h"

#include <algorithm>
#include <utility>

namespace nvc {
namespace {

// The kernels for few taps want all first weights, then all second ones and so on.
void GroupWeights(Axis* axis) {
  std::vector<float> weights;
  for (int k = 0; k < axis->taps; ++k) {
    for (size_t i = k; i < axis->weights.size(); i += axis->taps) {
      weights.push_back(axis->weights[i]);
    }
  }
  axis->weights = std::move(weights);
}

}  // namespace

PlaneResampler::PlaneResampler(PlaneReader reader, Axis x, Axis y)
    : kernels_(GetResampleKernels(BestSimd())),
      reader_(std::move(reader)),
      x_(std::move(x)),
      y_(std::move(y)),
      columns_first_(y_.taps > kMaxSummedRows),
      read_left_(x_.begin),
      read_count_(x_.end - x_.begin) {
  PlanHorizontal();
  for (int start : x_.start) start_.push_back(start - read_left_);
  source_row_.resize(read_count_ + x_.taps);
  output_row_.resize(x_.count());
  if (columns_first_) {
    reader_.ReserveBuffers(kMaxSummedRows);
  } else {
    cache_.resize(static_cast<size_t>(x_.count()) * y_.taps);
    cached_.resize(y_.taps);
  }
}

void PlaneResampler::PlanHorizontal() {
  if (x_.identity) {
    horizontal_ = Horizontal::kCopy;
  } else if (!columns_first_ && x_.taps == 1) {
    horizontal_ = Horizontal::kPick;
  } else if (!columns_first_ && x_.taps == 2) {
    horizontal_ = Horizontal::kDot2;
    GroupWeights(&x_);
  } else if (!columns_first_ && x_.taps <= 4 && PadTaps(4, reader_.width(), &x_)) {
    horizontal_ = Horizontal::kDot4;
    GroupWeights(&x_);
    read_left_ = x_.begin;
    read_count_ = x_.end - x_.begin;
  } else {
    horizontal_ = Horizontal::kDot8;
    // This kernel reads rows that this object owns, which have room for taps of weight 0.
    const int taps = (x_.taps + 7) / 8 * 8;
    PadTaps(taps, x_.end + taps, &x_);
  }
}

void PlaneResampler::Begin(const AVFrame& frame) {
  frame_ = &frame;
  std::fill(cached_.begin(), cached_.end(), -1);
}

const float* PlaneResampler::Row(int i) { return columns_first_ ? ColumnsFirst(i) : RowsFirst(i); }

template <typename T>
void PlaneResampler::Resample(const SampleKernels<T>& kernels, const T* from, float* to) {
  const int count = x_.count();
  switch (horizontal_) {
    case Horizontal::kCopy:
      return kernels.to_float(from, count, to);
    case Horizontal::kPick:
      return kernels.pick(from, start_.data(), count, to);
    case Horizontal::kDot2:
      return kernels.dot2(from, start_.data(), x_.weights.data(), count, to);
    case Horizontal::kDot4:
      return kernels.dot4(from, start_.data(), x_.weights.data(), count, to);
    case Horizontal::kDot8:
      kernels.to_float(from, read_count_, source_row_.data());
      return kernels_.dot8(source_row_.data(), start_.data(), x_.weights.data(), x_.taps, count,
                           to);
  }
}

const float* PlaneResampler::ResampledRow(int y) {
  const int slot = y % y_.taps;
  float* to = cache_.data() + static_cast<size_t>(slot) * x_.count();
  if (cached_[slot] == y) return to;
  cached_[slot] = y;
  const void* row = reader_.Row(*frame_, y, read_left_, read_count_);
  if (reader_.wide()) {
    Resample(kernels_.words, static_cast<const uint16_t*>(row), to);
  } else {
    Resample(kernels_.bytes, static_cast<const uint8_t*>(row), to);
  }
  return to;
}

const float* PlaneResampler::RowsFirst(int i) {
  const int start = y_.start[i];
  if (y_.taps == 1) return ResampledRow(start);
  const float* rows[kMaxSummedRows];
  float weights[kMaxSummedRows];
  int count = 0;
  for (int k = 0; k < y_.taps; ++k) {
    const float weight = y_.weights[static_cast<size_t>(i) * y_.taps + k];
    if (weight == 0) continue;
    rows[count] = ResampledRow(start + k);
    weights[count++] = weight;
  }
  if (count == 1) return rows[0];
  kernels_.blend_rows(rows, weights, count, x_.count(), output_row_.data());
  return output_row_.data();
}

template <typename T>
void PlaneResampler::SumRows(const SampleKernels<T>& kernels, int i, float* sum) {
  const float* weights = y_.weights.data() + static_cast<size_t>(i) * y_.taps;
  for (int k = 0; k < y_.taps; k += kMaxSummedRows) {
    const T* rows[kMaxSummedRows];
    const int count = std::min(kMaxSummedRows, y_.taps - k);
    for (int r = 0; r < count; ++r) {
      rows[r] = static_cast<const T*>(
          reader_.Row(*frame_, y_.start[i] + k + r, read_left_, read_count_, r));
    }
    kernels.add_rows(rows, weights + k, count, /*first=*/k == 0, read_count_, sum);
  }
}

const float* PlaneResampler::ColumnsFirst(int i) {
  const bool copy = horizontal_ == Horizontal::kCopy;
  float* sum = copy ? output_row_.data() : source_row_.data();
  if (reader_.wide()) {
    SumRows(kernels_.words, i, sum);
  } else {
    SumRows(kernels_.bytes, i, sum);
  }
  if (copy) return sum;
  kernels_.dot8(sum, start_.data(), x_.weights.data(), x_.taps, x_.count(), output_row_.data());
  return output_row_.data();
}

}  // namespace nvc
