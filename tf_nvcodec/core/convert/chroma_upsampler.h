// Bilinear interpolation of a chroma plane to luma's resolution, for planes of the same or half
// the size along each axis.
#ifndef TF_NVCODEC_CORE_CONVERT_CHROMA_UPSAMPLER_H_
#define TF_NVCODEC_CORE_CONVERT_CHROMA_UPSAMPLER_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/convert/component_axis.h"
#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/rows/chroma_rows.h"

namespace nvc {

class ChromaUpsampler {
 public:
  // For luma pixels [left, left + width); left is a multiple of 2^log2_width.
  ChromaUpsampler(PlaneReader reader, ChromaSiting siting, int left, int width);

  static bool CanUpsample(const PlaneReader& reader) {
    return reader.log2_width() <= 1 && reader.log2_height() <= 1;
  }

  // Call before the first row of each frame.
  void Begin();
  // Chroma of the pixels of luma row y, as fractions of 2^depth with 15 bits. Valid until the next
  // call.
  const uint16_t* Row(const AVFrame& frame, int y);

 private:
  // Between sample `first` and the one after it; weight of the latter, with 15 bits.
  struct Position {
    int first;
    int16_t weight;
  };
  // Of luma pixel i on an axis with half the samples.
  static Position PositionOf(int i, int siting);

  // Row y of the plane as fractions, with the samples around; the plane's last ones repeat.
  const int16_t* SourceRow(const AVFrame& frame, int y);

  const ChromaRowKernels& kernels_;
  PlaneReader reader_;
  ChromaSiting siting_;
  int first_, count_;                    // samples of a row, which may lie outside the plane
  std::vector<int16_t> source_rows_[2];  // of even and odd rows
  int source_row_of_[2];                 // which is there, or -1
  std::vector<int16_t> blended_, even_, odd_;
  std::vector<uint16_t> row_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_CHROMA_UPSAMPLER_H_
