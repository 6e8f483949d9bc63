#include "tf_nvcodec/core/convert/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nvc {
namespace {

double Triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// R. Keys, "Cubic convolution interpolation for digital image processing", 1981, a = -1/2.
double Keys(double x) {
  x = std::abs(x);
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return (1.5 * x - 2.5) * x * x + 1;
}

// C. Duchon, "Lanczos filtering in one and two dimensions", 1979.
double Lanczos3(double x) {
  constexpr double kPi = 3.14159265358979323846, kRadius = 3;
  if (std::abs(x) >= kRadius) return 0;
  if (std::abs(x) < 1e-3) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

double Kernel(ResizeMethod method, double x) {
  if (method == ResizeMethod::kBicubic) return Keys(x);
  return method == ResizeMethod::kLanczos3 ? Lanczos3(x) : Triangle(x);
}

// The samples of one output, all inside [first, last) of the axis.
struct Taps {
  int begin = 0;
  std::vector<double> weights;  // reused for every output
};

void FindTaps(const AxisSpec& spec, int i, Taps* taps) {
  // One division of exact numbers, so that ties between samples are found exactly.
  const double center = spec.origin + (2.0 * i + 1) * spec.span / (2.0 * spec.count);
  int nearest = static_cast<int>(spec.flip ? std::ceil(center) - 1 : std::floor(center));
  nearest = std::clamp(nearest, spec.first, spec.last - 1);
  taps->begin = nearest;
  taps->weights.assign(1, 1);
  double low = center, high = center;
  const double scale = spec.antialias ? std::max(1.0, spec.span / spec.count) : 1.0;
  switch (spec.method) {
    case ResizeMethod::kNearest:
      return;
    case ResizeMethod::kBilinear:
      low -= scale, high += scale;
      break;
    case ResizeMethod::kBicubic:
      low -= 2 * scale, high += 2 * scale;
      break;
    case ResizeMethod::kLanczos3:
      low -= 3 * scale, high += 3 * scale;
      break;
    case ResizeMethod::kArea:
      low = spec.origin + i * spec.span / spec.count;
      high = spec.origin + (i + 1) * spec.span / spec.count;
      break;
  }
  const int begin = std::max(spec.first, static_cast<int>(std::floor(low)));
  const int end = std::min(spec.last, static_cast<int>(std::ceil(high)));
  double sum = 0;
  taps->weights.clear();
  for (int j = begin; j < end; ++j) {
    const double distance = center - (j + 0.5);
    double weight = 0;
    if (spec.method == ResizeMethod::kArea) {
      weight = std::max(0.0, std::min(high, j + 1.0) - std::max(low, static_cast<double>(j)));
    } else {
      weight = Kernel(spec.method, distance / scale);
    }
    if (weight == 0 && taps->weights.empty()) continue;
    if (taps->weights.empty()) taps->begin = j;
    taps->weights.push_back(weight);
    sum += weight;
  }
  if (std::abs(sum) < 1e-9) {
    taps->begin = nearest;
    taps->weights.assign(1, 1);
    return;
  }
  while (taps->weights.back() == 0) taps->weights.pop_back();
  for (double& weight : taps->weights) weight /= sum;
}

}  // namespace

Axis MakeAxis(const AxisSpec& spec) {
  Axis axis;
  Taps taps;
  // First all taps in one list; below they move to rows of equal length.
  std::vector<float> weights;
  std::vector<int> counts(spec.count);
  for (int i = 0; i < spec.count; ++i) {
    FindTaps(spec, i, &taps);
    axis.start.push_back(taps.begin);
    counts[i] = static_cast<int>(taps.weights.size());
    axis.taps = std::max(axis.taps, counts[i]);
    weights.insert(weights.end(), taps.weights.begin(), taps.weights.end());
  }
  axis.begin = spec.last;
  axis.end = spec.first;
  axis.identity = axis.taps == 1;
  if (axis.taps > 1) axis.weights.resize(static_cast<size_t>(spec.count) * axis.taps);
  const float* from = weights.data();
  for (int i = 0; i < spec.count; ++i) {
    // The last outputs have room for all taps only to their left.
    const int start = std::max(spec.first, std::min(axis.start[i], spec.last - axis.taps));
    if (axis.taps > 1) {
      float* row = axis.weights.data() + static_cast<size_t>(i) * axis.taps;
      std::copy(from, from + counts[i], row + (axis.start[i] - start));
      from += counts[i];
    }
    axis.start[i] = start;
    axis.begin = std::min(axis.begin, start);
    axis.end = std::max(axis.end, start + axis.taps);
    axis.identity = axis.identity && start == axis.start[0] + i;
  }
  return axis;
}

bool PadTaps(int taps, int size, Axis* axis) {
  if (size < taps) return false;
  std::vector<float> weights(static_cast<size_t>(axis->count()) * taps);
  axis->begin = size;
  axis->end = 0;
  for (int i = 0; i < axis->count(); ++i) {
    const int old_start = axis->start[i];
    const int start = std::min(old_start, size - taps);
    for (int k = 0; k < axis->taps; ++k) {
      weights[static_cast<size_t>(i) * taps + (old_start - start) + k] =
          axis->taps == 1 ? 1 : axis->weights[static_cast<size_t>(i) * axis->taps + k];
    }
    axis->start[i] = start;
    axis->begin = std::min(axis->begin, start);
    axis->end = std::max(axis->end, start + taps);
  }
  axis->weights = std::move(weights);
  axis->taps = taps;
  axis->identity = axis->identity && taps == 1;
  return true;
}

}  // namespace nvc
