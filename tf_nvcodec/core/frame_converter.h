// Turns decoded frames into the bytes of a tensor: crop, rotation, resize, YUV to RGB, sample type
// and layout in one pass over a frame, never through a full-size RGB picture.
#ifndef TF_NVCODEC_CORE_FRAME_CONVERTER_H_
#define TF_NVCODEC_CORE_FRAME_CONVERTER_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/frame_format.h"

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
  // InvalidArgument when the spec does not fit this source (a crop outside the frame, an odd crop
  // for a 4:2:0 output, native with a resize); Unimplemented for a source format it can't read.
  static absl::StatusOr<std::unique_ptr<FrameConverter>> Create(const OutputSpec& output,
                                                                const SourceSpec& source);
  virtual ~FrameConverter() = default;

  const SourceSpec& source() const { return source_; }
  const FrameShape& shape() const { return shape_; }

  // Writes shape().bytes bytes at `out`. Not thread-safe: it owns scratch rows; make one for each
  // thread.
  virtual absl::Status Convert(const AVFrame& frame, void* out) = 0;

 protected:
  FrameConverter(const SourceSpec& source, const FrameShape& shape)
      : source_(source), shape_(shape) {}

 private:
  SourceSpec source_;
  FrameShape shape_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FRAME_CONVERTER_H_
