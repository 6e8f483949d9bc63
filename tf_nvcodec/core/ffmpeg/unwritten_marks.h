// Finds parts of a picture that its decoder left out. Several of FFmpeg's decoders say nothing when
// the data of a damaged picture, slice or row ends early: the rest of the picture keeps what its
// memory held.
#ifndef TF_NVCODEC_CORE_FFMPEG_UNWRITTEN_MARKS_H_
#define TF_NVCODEC_CORE_FFMPEG_UNWRITTEN_MARKS_H_

#include <cstddef>
#include <cstdint>

namespace nvc {

// A plane of a picture. Width and height are those of the coded plane, in samples.
struct MarkedPlane {
  uint8_t* data = nullptr;
  ptrdiff_t linesize = 0;
  int width = 0, height = 0;
  int sample_bytes = 1;
};

// Writes marks that no decoder writes, in every row of macroblocks.
void WriteMarks(const MarkedPlane& plane);

// Whether a mark is still there.
bool HasMarks(const MarkedPlane& plane);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_UNWRITTEN_MARKS_H_
