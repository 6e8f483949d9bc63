// The linear maps from a source's code values to the channels of an output.
#ifndef TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_
#define TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_

#include <vector>

#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

namespace nvc {

// Rows of R', G', B' in [0, 1] from the source's components in code values, not clamped. A gray
// source has one component, which is all three.
struct SourceToRgb {
  int components = 3;
  double matrix[3][3] = {};
  double offset[3] = {};
};
SourceToRgb MakeSourceToRgb(const ConversionPlan& plan);

// For rgb, bgr and gray: from the first `components` components of the source to each channel, in
// units of the element.
struct ImageMaps {
  int components = 3;
  std::vector<LinearMap> channels;
};
ImageMaps MakeImageMaps(const ConversionPlan& plan);

// How the planes of a packed YUV format are laid out.
struct YuvLayout {
  int chroma_log2;
  bool interleaved;  // Cb and Cr share a plane
  int depth;
  int shift;  // of a code value in its element
};
YuvLayout YuvLayoutOf(PixelFormat format);

// For packed YUV outputs: to code values of `component` with `output_depth` bits; from the source's
// three components if it is RGB, from none for chroma of a gray one, else from the same one.
LinearMap MakePlaneMap(const ConversionPlan& plan, int component, int output_depth);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_
