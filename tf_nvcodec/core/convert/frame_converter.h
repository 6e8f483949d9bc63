// Converts decoded frames to the bytes of a tensor: crop, orientation, resize, YUV to RGB, sample
// type and layout in one pass over a frame, never through a full-size RGB picture.
//
// The following rules are exact. Results are within 1 of them for uint8 and uint16, and within
// float rounding for floats.
//
// Colour. For rgb and bgr, color.h's equations are applied to the stored code values and the result
// is clipped to [0, 1]. Integers are that times 255 or 65535, rounded half up; floats are (x -
// mean) / std. gray is luma alone, stretched to [0, 1] the same way; for an RGB source it is Kr R'
// + Kg G' + Kb B'. RGB sources have no matrix; those tagged as limited range are stretched. Alpha
// is dropped, not blended.
//
// Positions. A crop is in pixels of the frame as shown. Without a resize, luma pixel x gets chroma
// sample x >> log2 (nearest), or the two samples around it weighted by distance (bilinear).
// Bilinear uses the stream's chroma siting; unspecified means left, as in MPEG-2 and H.264. A pixel
// at a crop's edge has the same value as in the whole frame.
//
// Resize. Each plane goes straight from its own resolution to the output's, as if the crop of that
// plane were given to tf.image.resize(antialias=False). Nothing is rounded before the end. Output
// pixel i of n covers [i, i + 1) / n of the crop. The crop of a chroma plane is luma's divided by
// 2^log2, also when it falls between samples. But a crop that ends with the frame ends with the
// plane, so that a whole frame of odd size is resized from whole planes. With bilinear chroma, the
// siting moves chroma's coordinate. A size equal to the crop's is no resize.
//
// YUV. nv12, yuv420p, yuv444p and p010 keep the source's matrix and range. Limited range changes
// its depth by a power of two. Full range changes it by (2^to - 1) / (2^from - 1), for chroma
// around the middle value. Both round half up. Where the output has fewer chroma samples than the
// source, each is the mean of the samples that it covers; where it has more, the chroma rule of
// "Positions" applies. A resize replaces both. Chroma sides are rounded up. Chroma of a gray source
// is the middle value. An RGB source becomes limited range with the matrix of color_space, or else
// of its size. p010 is little-endian words with the code values in the upper 10 bits.
//
// native is FFmpeg's rawvideo, without padding, as stored: the orientation is ignored.
#ifndef TF_NVCODEC_CORE_CONVERT_FRAME_CONVERTER_H_
#define TF_NVCODEC_CORE_CONVERT_FRAME_CONVERTER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/format/orientation.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

// The properties that a converter is made for. Frames that differ in any of these need another
// converter.
struct SourceSpec {
  int width = 0, height = 0;
  AVPixelFormat format = AV_PIX_FMT_NONE;
  AVColorSpace color_space = AVCOL_SPC_UNSPECIFIED;
  AVColorRange color_range = AVCOL_RANGE_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  Orientation orientation;  // of the stored frame, for display

  static SourceSpec Of(const AVFrame& frame, Orientation orientation = {});
  bool operator==(const SourceSpec& other) const;
};

// The shape of one converted frame: [height, width, channels], or [bytes] for the packed formats.
struct FrameShape {
  int height = 0, width = 0, channels = 0;
  size_t bytes = 0;  // of one frame, for every format
};

class FrameConverter {
 public:
  // Returns InvalidArgument when the spec is invalid or does not fit the source (a crop that leaves
  // the frame), and Unimplemented for a pixel format or a colour matrix that it can't read.
  static absl::StatusOr<std::unique_ptr<FrameConverter>> Create(const OutputSpec& output,
                                                                const SourceSpec& source);
  virtual ~FrameConverter() = default;

  const SourceSpec& source() const { return source_; }
  const FrameShape& shape() const { return shape_; }

  // Writes shape().bytes bytes at `out`, which may have any alignment that the elements allow (32
  // bytes are faster). Returns InvalidArgument when `frame` has another size or format than
  // source(). Not thread-safe, because a converter has scratch rows; make one for each thread.
  virtual absl::Status Convert(const AVFrame& frame, void* out) = 0;

 protected:
  FrameConverter(const SourceSpec& source, const FrameShape& shape)
      : source_(source), shape_(shape) {}

 private:
  SourceSpec source_;
  FrameShape shape_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_FRAME_CONVERTER_H_
