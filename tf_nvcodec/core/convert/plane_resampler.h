// One component of a frame, resampled along both axes, a row at a time in float code values.
#ifndef TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_
#define TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_

#include <vector>

#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/convert/resample_axis.h"
#include "tf_nvcodec/core/rows/resample_rows.h"

namespace nvc {

class PlaneResampler {
 public:
  // The axes' source samples lie inside the reader's grid.
  PlaneResampler(PlaneReader reader, Axis x, Axis y);

  int width() const { return x_.count(); }
  int height() const { return y_.count(); }

  // Call before the first row of each frame; `frame` is kept until the next call.
  void Begin(const AVFrame& frame);
  // Row i, width() samples in the code values of the source's depth. Valid until the next call;
  // ascending i reuses source rows.
  const float* Row(int i);

 private:
  // How a source row becomes an output row.
  enum class Horizontal { kCopy, kPick, kDot2, kDot4, kDot8 };

  void PlanHorizontal();
  // Both passes over an output row: each source row along x, then these rows along y; or the other
  // way round, which is less work where many source rows make one.
  const float* RowsFirst(int i);
  const float* ColumnsFirst(int i);
  // The source row resampled to width(), from the cache when it is there.
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
  int read_left_, read_count_;  // samples of a source row that are needed
  std::vector<int32_t> start_;  // x_.start relative to read_left_
  const AVFrame* frame_ = nullptr;
  std::vector<float> cache_;       // y_.taps rows; source row y is in slot y % taps
  std::vector<int> cached_;        // the source row in each slot, or -1
  std::vector<float> source_row_;  // a source row as floats
  std::vector<float> output_row_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_PLANE_RESAMPLER_H_
