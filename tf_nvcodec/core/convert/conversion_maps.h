// Computes the linear maps from a source's code values to the channels of an output.
#ifndef TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_
#define TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_

#include <vector>

#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

namespace nvc {

// Maps the source's components, in code values, to R', G', B' (one row each) in [0, 1], without
// clamping. A gray source has one component, which gives all three.
struct SourceToRgb {
  int components = 3;
  double matrix[3][3] = {};
  double offset[3] = {};
};
SourceToRgb MakeSourceToRgb(const ConversionPlan& plan);

// The maps for rgb, bgr and gray outputs: from the first `components` components of the source to
// each channel, in units of the output's element.
struct ImageMaps {
  int components = 3;
  std::vector<LinearMap> channels;
};
ImageMaps MakeImageMaps(const ConversionPlan& plan);

// Returns the map to code values of `component` with `output_depth` bits, for packed YUV outputs.
// Its inputs are the source's three components if the source is RGB, none for the chroma of a gray
// source, else the same component.
LinearMap MakePlaneMap(const ConversionPlan& plan, int component, int output_depth);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_CONVERSION_MAPS_H_
