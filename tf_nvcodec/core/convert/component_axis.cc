#include "tf_nvcodec/core/convert/component_axis.h"

#include <algorithm>
#include <utility>

namespace nvc {
namespace {

struct LumaExtent {
  int size;          // of the stored frame
  int begin, count;  // of the crop, in stored pixels
  int output_count;  // of the output, in pixels
  bool flip;
};

Axis MakeComponentAxis(const OutputSpec& output, const Geometry& geometry, const LumaExtent& luma,
                       int size, int log2, int output_log2, int siting) {
  const double pixels = 1 << log2;
  const int end = luma.begin + luma.count;
  AxisSpec spec;
  spec.count = (luma.output_count + (1 << output_log2) - 1) >> output_log2;
  spec.flip = luma.flip;
  if (geometry.resized) {
    spec.method = output.resize_method;
    spec.antialias = output.antialias;
    spec.origin = luma.begin / pixels;
    // A plane is resized from its own resolution: at the frame's end, the crop ends with a whole
    // sample.
    spec.span = (end == luma.size ? size : end / pixels) - spec.origin;
    spec.first = luma.begin >> log2;
    spec.last = std::min(size, (end + (1 << log2) - 1) >> log2);
  } else {
    const int covered = spec.count << output_log2;
    spec.origin = (luma.flip ? end - covered : luma.begin) / pixels;
    spec.span = covered / pixels;
    spec.first = 0;
    spec.last = size;
    const bool linear = output.chroma_upsampling == ChromaUpsampling::kBilinear;
    spec.method = log2 <= output_log2 ? ResizeMethod::kArea
                  : linear            ? ResizeMethod::kBilinear
                                      : ResizeMethod::kNearest;
  }
  // Subsampled outputs keep the source's siting.
  if (log2 > 0 && output_log2 == 0 && output.chroma_upsampling == ChromaUpsampling::kBilinear) {
    spec.origin -= siting * (0.5 - 0.5 / pixels);
  }
  return MakeAxis(spec);
}

}  // namespace

ChromaSiting SitingOf(AVChromaLocation location) {
  switch (location) {
    case AVCHROMA_LOC_CENTER:
      return {0, 0};
    case AVCHROMA_LOC_TOPLEFT:
      return {-1, -1};
    case AVCHROMA_LOC_TOP:
      return {0, -1};
    case AVCHROMA_LOC_BOTTOMLEFT:
      return {-1, 1};
    case AVCHROMA_LOC_BOTTOM:
      return {0, 1};
    default:
      return {-1, 0};
  }
}

Axis HorizontalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                    const PlaneReader& reader, int output_log2) {
  const LumaExtent luma = {source.width, geometry.crop.left, geometry.crop.width,
                           geometry.stored_width, geometry.orientation.flip_x};
  return MakeComponentAxis(output, geometry, luma, reader.width(), reader.log2_width(), output_log2,
                           SitingOf(source.chroma_location).x);
}

Axis VerticalAxis(const OutputSpec& output, const SourceSpec& source, const Geometry& geometry,
                  const PlaneReader& reader, int output_log2) {
  const LumaExtent luma = {source.height, geometry.crop.top, geometry.crop.height,
                           geometry.stored_height, geometry.orientation.flip_y};
  return MakeComponentAxis(output, geometry, luma, reader.height(), reader.log2_height(),
                           output_log2, SitingOf(source.chroma_location).y);
}

PlaneResampler MakeResampler(const OutputSpec& output, const SourceSpec& source,
                             const Geometry& geometry, int component, int output_log2_width,
                             int output_log2_height) {
  PlaneReader reader(source.format, source.width, source.height, component);
  Axis x = HorizontalAxis(output, source, geometry, reader, output_log2_width);
  Axis y = VerticalAxis(output, source, geometry, reader, output_log2_height);
  return PlaneResampler(std::move(reader), std::move(x), std::move(y));
}

}  // namespace nvc
