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
  size_t bytes() const { return row_bytes_ * height_; }

  // Writes bytes() bytes.
  void Convert(const AVFrame& frame, uint8_t* out);

 protected:
  // `width` and `height` are those of the stored plane.
  OutputPlane(Orientation orientation, int width, int height, size_t pixel_bytes)
      : width_(width),
        height_(height),
        row_bytes_(width * pixel_bytes),
        sink_(orientation, width, height, pixel_bytes) {}

  int width() const { return width_; }

 private:
  virtual void Begin(const AVFrame& frame) = 0;
  virtual void ConvertRow(int y, uint8_t* to) = 0;

  int width_, height_;
  size_t row_bytes_;
  RowSink sink_;
};

// Returns the planes of plan.output.pixel_format, in order.
std::vector<std::unique_ptr<OutputPlane>> MakeOutputPlanes(const ConversionPlan& plan);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_YUV_PLANES_H_
