// Turns decoded frames into the bytes of a tensor: crop, rotation, resize, YUV to RGB, sample type
// and layout in one pass over a frame, never through a full-size RGB picture.
//
// The rules, which are exact; results are within 1 of them for uint8 and uint16 and within float
// rounding for floats:
//
// Colour. rgb and bgr are color.h's equations applied to the stored code values, clipped to [0, 1],
// then times 255 or 65535 and rounded half up, or for floats (x - mean) / std. gray is luma alone,
// stretched to [0, 1] the same way; of an RGB source it is Kr R' + Kg G' + Kb B'. RGB sources have
// no matrix; those tagged limited are stretched. Alpha is dropped, not blended.
//
// Positions. A crop is in pixels of the frame as shown. Without a resize, luma pixel x has chroma
// sample x >> log2 (nearest), or the two samples around it weighted by distance, with the stream's
// siting (bilinear; unspecified is left, as in MPEG-2 and H.264). A crop's edge then has the same
// values as it has in the whole frame.
//
// Resize. Each plane goes straight from its own resolution to the output's, as if the crop of that
// plane were given to tf.image.resize(antialias=False); nothing is rounded before the end. Output
// pixel i of n covers [i, i + 1) / n of the crop. In a chroma plane the crop is where luma's is,
// divided by 2^log2, be that between samples; but it ends with the plane where it ends with the
// frame, so that a whole odd-sized frame is resized from whole planes. With bilinear chroma the
// siting moves chroma's coordinate. A size equal to the crop's is no resize.
//
// nv12, yuv420p, yuv444p and p010 keep the source's matrix and range. Limited range changes depth
// by a power of two, full range by (2^to - 1) / (2^from - 1) around the middle for chroma; both
// round half up. Where the output has fewer chroma samples than the source, each is the mean of the
// samples it covers; where it has more, the chroma rule above. A resize replaces both. Sides are
// rounded up for chroma. Chroma of a gray source is the middle value; an RGB source becomes limited
// range with the matrix of color_space, else of its size. p010 is little-endian words, codes in the
// upper 10 bits.
//
// native is FFmpeg's rawvideo, without padding, as stored: the rotation is ignored.
#ifndef TF_NVCODEC_CORE_CONVERT_FRAME_CONVERTER_H_
#define TF_NVCODEC_CORE_CONVERT_FRAME_CONVERTER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

// What a converter is made for; frames that differ in any of these need another one.
struct SourceSpec {
  int width = 0, height = 0;
  AVPixelFormat format = AV_PIX_FMT_NONE;
  AVColorSpace color_space = AVCOL_SPC_UNSPECIFIED;
  AVColorRange color_range = AVCOL_RANGE_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  int rotation = 0;  // degrees clockwise to turn the stored frame for display: 0, 90, 180, 270

  static SourceSpec Of(const AVFrame& frame, int rotation);
  bool operator==(const SourceSpec& other) const;
};

// Shape of one converted frame: [height, width, channels], or [bytes] for the packed formats.
struct FrameShape {
  int height = 0, width = 0, channels = 0;
  size_t bytes = 0;  // of one frame, whatever the format
};

class FrameConverter {
 public:
  // InvalidArgument when the spec is invalid or does not fit this source (a crop that leaves the
  // frame, a rotation that is not a quarter turn); Unimplemented for a pixel format or a colour
  // matrix it can't read.
  static absl::StatusOr<std::unique_ptr<FrameConverter>> Create(const OutputSpec& output,
                                                                const SourceSpec& source);
  virtual ~FrameConverter() = default;

  const SourceSpec& source() const { return source_; }
  const FrameShape& shape() const { return shape_; }

  // Writes shape().bytes bytes at `out`, of any alignment the elements allow (32 bytes are
  // quicker). InvalidArgument when `frame` has another size or format than source(). Not
  // thread-safe: it owns scratch rows; make one for each thread.
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
