// Takes rows of pixels in stored order and writes them to their places in the picture as shown.
#ifndef TF_NVCODEC_CORE_CONVERT_ROW_SINK_H_
#define TF_NVCODEC_CORE_CONVERT_ROW_SINK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/format/orientation.h"
#include "tf_nvcodec/core/rows/rotate_rows.h"

namespace nvc {

class RowSink {
 public:
  // `width` and `height` are those of the stored picture.
  RowSink(Orientation orientation, int width, int height, size_t pixel_bytes);

  // The size of a row of the picture as shown.
  ptrdiff_t shown_row_bytes() const {
    return (orientation_.turned ? height_ : width_) * pixel_bytes_;
  }
  // Starts a picture. Its rows as shown are `stride` bytes apart.
  void Begin(void* out, ptrdiff_t stride);
  // Returns where to write row y, exactly `width` pixels. Rows come in ascending order.
  uint8_t* Row(int y);
  // Tells that row y is written.
  void Commit(int y);

 private:
  // Where stored row y is shown: as which row or, if turned, as which column.
  int Place(int y) const { return orientation_.flip_y ? height_ - 1 - y : y; }
  void Turn(int last);

  const RotateKernels& kernels_;
  Orientation orientation_;
  int width_, height_;
  size_t pixel_bytes_, row_bytes_;
  ptrdiff_t stride_ = 0;
  int band_;  // rows gathered before they are written as columns
  uint8_t* out_ = nullptr;
  std::vector<uint8_t> rows_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_ROW_SINK_H_
