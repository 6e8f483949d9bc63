// Lays frames out like NVDEC's output surfaces, but without a pitch, as users of PyNvVideoCodec
// know them.
#ifndef TF_NVCODEC_CORE_CONVERT_SURFACE_H_
#define TF_NVCODEC_CORE_CONVERT_SURFACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace nvc {

// The values are PyNvVideoCodec's (Pixel_Format). 16-bit formats have their samples in the high
// bits.
enum class SurfaceFormat {
  kNv12 = 3,
  kYuv444 = 4,
  kP016 = 5,
  kYuv444In16 = 6,
  kNv16 = 7,
  kP216 = 8,
  kRgb = 9,         // [H, W, 3] in uint8
  kRgbPlanar = 10,  // [3, H, W] in uint8
};

// The stream's own samples, or RGB in one of two orders. The values are those of OutputColorType.
enum class SurfaceColor { kNative = 0, kRgb = 1, kRgbPlanar = 2 };

struct SurfaceLayout {
  struct Plane {
    size_t offset = 0;                        // bytes from the surface's beginning
    int height = 0, width = 0, channels = 0;  // interleaved chroma has two channels
    size_t stride = 0;                        // bytes from row to row
  };

  SurfaceFormat format = SurfaceFormat::kNv12;
  int width = 0, height = 0;
  int sample_bytes = 1;
  int num_planes = 0;
  std::array<Plane, 3> planes;
  size_t bytes = 0;

  // The whole surface as one tensor: [rows, width] with the planes below one another, or as in
  // SurfaceFormat. Strides are in samples.
  int num_dims = 0;
  std::array<int64_t, 3> shape{}, strides{};

  // Returns the layout of a frame with these samples. Rows of 4:2:0 and 4:2:2 have an even number
  // of samples, so that luma's last one is unused if the width is odd. Returns Unimplemented for
  // samples that no surface has (RGB, 4:1:1, 4:4:0, more than 16 bits).
  static absl::StatusOr<SurfaceLayout> Of(AVPixelFormat samples, SurfaceColor color, int width,
                                          int height);
};

// Writes frames as surfaces. Not thread-safe. Each frame may have another size and format.
class SurfaceWriter {
 public:
  explicit SurfaceWriter(SurfaceColor color) : color_(color) {}

  absl::StatusOr<SurfaceLayout> LayoutOf(const AVFrame& frame) const {
    return SurfaceLayout::Of(static_cast<AVPixelFormat>(frame.format), color_, frame.width,
                             frame.height);
  }

  // Writes layout.bytes bytes at `out`. Native samples keep their bits; gray frames get the middle
  // value for chroma; alpha is left out. RGB comes from a FrameConverter, with the stream's matrix
  // and range, in the stored orientation.
  absl::Status Write(const AVFrame& frame, const SurfaceLayout& layout, uint8_t* out);

 private:
  absl::Status WriteRgb(const AVFrame& frame, uint8_t* out);

  const SurfaceColor color_;
  std::unique_ptr<FrameConverter> converter_;  // for frames like the last one
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_SURFACE_H_
