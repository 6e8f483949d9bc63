// Writes decoded frames of FFmpeg's into surfaces.
#ifndef TF_NVCODEC_CORE_CONVERT_SURFACE_WRITER_H_
#define TF_NVCODEC_CORE_CONVERT_SURFACE_WRITER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/convert/surface_layout.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// Not thread-safe. The frames may change their size and format from one to the next.
class SurfaceWriter {
 public:
  explicit SurfaceWriter(SurfaceColor color) : color_(color) {}

  absl::StatusOr<SurfaceLayout> LayoutOf(const AVFrame& frame) const {
    return SurfaceLayout::Of(static_cast<AVPixelFormat>(frame.format), color_, frame.width,
                             frame.height);
  }

  // All of layout.bytes at `out`. Native samples keep their bits; gray frames get the middle value
  // for chroma, alpha is left out. RGB is as FrameConverter makes it, with the stream's matrix and
  // range, in the orientation stored.
  absl::Status Write(const AVFrame& frame, const SurfaceLayout& layout, uint8_t* out);

 private:
  absl::Status WriteRgb(const AVFrame& frame, uint8_t* out);

  const SurfaceColor color_;
  std::unique_ptr<FrameConverter> converter_;  // for the last frame's kind
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_SURFACE_WRITER_H_
