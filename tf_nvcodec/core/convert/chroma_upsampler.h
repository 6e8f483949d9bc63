// Upsamples a chroma plane bilinearly to luma's resolution, for planes with the same or half the
// size along each axis.
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
  // Makes an upsampler for the luma pixels [left, left + width) of each row. `left` is a multiple
  // of 2^log2_width.
  ChromaUpsampler(PlaneReader reader, ChromaSiting siting, int left, int width);

  // Call this before the first row of each frame.
  void Begin();
  // Returns the chroma of the pixels in luma row y, as fractions of 2^depth with 15 bits. Valid
  // until the next call.
  const uint16_t* Row(const AVFrame& frame, int y);

 private:
  // A place between sample `first` and the next sample. `weight` is the next one's, with 15 bits.
  struct Position {
    int first;
    int16_t weight;
  };
  // Returns the position of luma pixel i on an axis with half as many samples.
  static Position PositionOf(int i, int siting);

  // Returns row y of the plane as fractions. Beyond the plane's ends its first and last samples
  // repeat.
  const int16_t* SourceRow(const AVFrame& frame, int y);

  const ChromaRowKernels& kernels_;
  PlaneReader reader_;
  ChromaSiting siting_;
  int first_, count_;                    // samples of a row; they may lie outside the plane
  std::vector<int16_t> source_rows_[2];  // an even and an odd row
  int source_row_of_[2];                 // the number of the row in each, or -1
  std::vector<int16_t> blended_, even_, odd_;
  std::vector<uint16_t> row_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_CHROMA_UPSAMPLER_H_
