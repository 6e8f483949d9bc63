// The axes that take one component of a frame to its place in the output: crop, size, chroma
// subsampling and siting in one continuous coordinate.
#ifndef TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_
#define TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_

#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/convert/plane_resampler.h"
#include "tf_nvcodec/core/convert/resample_axis.h"
#include "tf_nvcodec/core/format/geometry.h"

namespace nvc {

// Where chroma samples sit on the luma they cover, along each axis: -1 on the first luma sample, 0
// in the middle, 1 on the last. Unspecified is left.
struct ChromaSiting {
  int x, y;
};
ChromaSiting SitingOf(AVChromaLocation location);

// Axes for `reader`'s component of `source`, in stored order. The output component has
// 2^output_log2 fewer samples (rounded up) than the output has pixels, along each axis.
Axis HorizontalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                    const PlaneReader& reader, int output_log2);
Axis VerticalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                  const PlaneReader& reader, int output_log2);

PlaneResampler MakeResampler(const OutputSpec& output, const SourceSpec& source,
                             const Geometry& geometry, int component, int output_log2);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_COMPONENT_AXIS_H_
