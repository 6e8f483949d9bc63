// Resamples one component of a frame along both axes and returns it row by row, in float code
// values.
#ifndef TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_
#define TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_

#include <vector>

#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/convert/resample_axis.h"
#include "tf_nvcodec/core/rows/resample_rows.h"

namespace nvc {

class PlaneResampler {
 public:
  // The axes must only use source samples inside the reader's grid.
  PlaneResampler(PlaneReader reader, Axis x, Axis y);

  int width() const { return x_.count(); }
  int height() const { return y_.count(); }

  // Call this before the first row of each frame. `frame` must stay valid until the next call.
  void Begin(const AVFrame& frame);
  // Returns row i: width() samples in code values of the source's depth. Valid until the next call.
  // Ascending calls reuse source rows.
  const float* Row(int i);

 private:
  // How a source row becomes an output row.
  enum class Horizontal { kCopy, kPick, kDot2, kDot4, kDot8 };

  void PlanHorizontal();
  // The two orders of the passes for an output row. RowsFirst resamples source rows along x and
  // then sums these along y. ColumnsFirst sums first, which is less work when many source rows make
  // one.
  const float* RowsFirst(int i);
  const float* ColumnsFirst(int i);
  // Returns source row y resampled to width(), from the cache if it is there.
  const float* ResampledRow(int y);
  template <typename T>
  void Resample(const SampleKernels<T>& kernels, const T* from, float* to);
  // Sums the weighted source rows of output row i.
  template <typename T>
  void SumRows(const SampleKernels<T>& kernels, int i, float* sum);

  const ResampleKernels& kernels_;
  PlaneReader reader_;
  Axis x_, y_;
  bool columns_first_;
  Horizontal horizontal_;
  int read_left_, read_count_;  // the samples of a source row that are used
  std::vector<int32_t> start_;  // x_.start relative to read_left_
  const AVFrame* frame_ = nullptr;
  std::vector<float> cache_;       // y_.taps rows; source row y is in slot y % taps
  std::vector<int> cached_;        // the source row in each slot, or -1
  std::vector<float> source_row_;  // a source row as floats
  std::vector<float> output_row_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_
