// Describes resampling along one axis: which source samples make an output sample, and with what
// weights.
#ifndef TF_NVCODEC_CORE_CONVERT_RESAMPLE_AXIS_H_
#define TF_NVCODEC_CORE_CONVERT_RESAMPLE_AXIS_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

// Output i is the sum over k < taps of weights[i * taps + k] * source[start[i] + k].
struct Axis {
  int taps = 1;
  std::vector<int32_t> start;
  std::vector<float> weights;  // sum to 1 for each output; empty if taps is 1

  int count() const { return static_cast<int>(start.size()); }
  // The source samples that any output uses: [begin, end).
  int begin = 0, end = 0;
  // True if output i is source sample begin + i.
  bool identity = false;
};

// Source sample j covers [j, j + 1). Output i covers span / count from origin + i * span / count
// on.
struct AxisSpec {
  ResizeMethod method = ResizeMethod::kNearest;
  bool antialias = false;
  int count = 0;
  double origin = 0, span = 0;
  // Only source samples in [first, last) may be used. Weights outside are dropped and the others
  // scaled to sum to 1, as TensorFlow does.
  int first = 0, last = 0;
  // The axis is shown in reverse. Then the nearest sample to a point half-way between two is the
  // one with the lower index.
  bool flip = false;
};

// The methods. nearest: the sample that holds the output's centre. bilinear: the triangle of radius
// 1 around the centre. bicubic: Keys' kernel with a = -0.5. area: each sample weighs as much as it
// covers of the output's extent. lanczos3: the sinc windowed by its own central lobe, of radius 3.
// With antialias, the kernels are as many times wider as there are source samples for an output.
Axis MakeAxis(const AxisSpec& spec);

// Raises the axis's number of taps to `taps` with zero weights, and keeps to source samples [0,
// size). Returns false, and changes nothing, when `size` is smaller than `taps`.
bool PadTaps(int taps, int size, Axis* axis);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_RESAMPLE_AXIS_H_
