// Makes the planes of packed YUV outputs. A plane that only needs the source's own samples, at most
// with another bit depth, is copied; any other plane goes through rows of floats.
#ifndef TF_NVCODEC_CORE_CONVERT_YUV_PLANES_H_
#define TF_NVCODEC_CORE_CONVERT_YUV_PLANES_H_

#include <memory>
#include <vector>

#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {

// One plane of the output: one component, or Cb and Cr interleaved.
class OutputPlane {
 public:
  virtual ~OutputPlane() = default;
  // The sizes of a row as shown and of the plane, without gaps.
  ptrdiff_t row_bytes() const { return sink_.shown_row_bytes(); }
  size_t bytes() const { return static_cast<size_t>(width_) * height_ * pixel_bytes_; }

  // Writes the plane's rows as shown, `stride` bytes apart.
  void Convert(const AVFrame& frame, uint8_t* out, ptrdiff_t stride);

 protected:
  // `width` and `height` are those of the stored plane.
  OutputPlane(Orientation orientation, int width, int height, size_t pixel_bytes)
      : width_(width),
        height_(height),
        pixel_bytes_(pixel_bytes),
        sink_(orientation, width, height, pixel_bytes) {}

  int width() const { return width_; }

 private:
  virtual void Begin(const AVFrame& frame) = 0;
  virtual void ConvertRow(int y, uint8_t* to) = 0;

  int width_, height_;
  size_t pixel_bytes_;
  RowSink sink_;
};

// Returns the planes of an output with this layout, in order. Luma alone is one plane.
std::vector<std::unique_ptr<OutputPlane>> MakeOutputPlanes(const ConversionPlan& plan,
                                                           const YuvLayout& layout,
                                                           bool luma_alone = false);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_YUV_PLANES_H_
