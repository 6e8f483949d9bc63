// Makes the axes that map one component of a frame to the output: crop, size, chroma subsampling
// and siting in one continuous coordinate.
#ifndef TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_
#define TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_

#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/convert/plane_resampler.h"
#include "tf_nvcodec/core/convert/resample_axis.h"
#include "tf_nvcodec/core/format/geometry.h"

namespace nvc {

// Where a chroma sample lies on the luma samples that it covers, along each axis: -1 on the first,
// 0 in the middle, 1 on the last. SitingOf takes an unspecified location for left.
struct ChromaSiting {
  int x, y;
};
ChromaSiting SitingOf(AVChromaLocation location);

// Make the axes for `reader`'s component of `source`, in stored order. Along each axis, the output
// component has 1 / 2^output_log2 as many samples (rounded up) as the output has pixels.
Axis HorizontalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                    const PlaneReader& reader, int output_log2);
Axis VerticalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                  const PlaneReader& reader, int output_log2);

PlaneResampler MakeResampler(const OutputSpec& output, const SourceSpec& source,
                             const Geometry& geometry, int component, int output_log2_width,
                             int output_log2_height);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_
