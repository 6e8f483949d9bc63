#include "tf_nvcodec/core/convert/conversion_maps.h"

#include <algorithm>

#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/format/color.h"

namespace nvc {
namespace {

int DepthOf(const SourceSpec& source, int component) {
  return PlaneReader(source.format, source.width, source.height, component).depth();
}

// Returns the map that is clamped to [0, 1] and then scaled to the element's range, or to (x -
// mean) / std for floats.
LinearMap MakeChannelMap(const OutputSpec& output, const double factor[3], double offset,
                         int channel) {
  double scale = 1, shift = 0;
  switch (output.sample_type) {
    case SampleType::kUint8:
      scale = 255;
      break;
    case SampleType::kUint16:
      scale = 65535;
      break;
    default:
      scale = 1.0 / output.std_dev[channel];
      shift = -output.mean[channel] * scale;
  }
  LinearMap map;
  for (int k = 0; k < 3; ++k) map.factor[k] = static_cast<float>(factor[k] * scale);
  map.offset = static_cast<float>(offset * scale + shift);
  map.low = static_cast<float>(std::min(shift, scale + shift));
  map.high = static_cast<float>(std::max(shift, scale + shift));
  return map;
}

}  // namespace

SourceToRgb MakeSourceToRgb(const ConversionPlan& plan) {
  SourceToRgb to_rgb;
  to_rgb.components = plan.model == ColorModel::kGray ? 1 : 3;
  for (int k = 0; k < to_rgb.components; ++k) {
    const YuvToRgb yuv = MakeYuvToRgb(plan.weights, plan.range, DepthOf(plan.source, k));
    const double origin =
        k == 0 || plan.model == ColorModel::kRgb ? yuv.luma_offset : yuv.chroma_offset;
    for (int c = 0; c < 3; ++c) {
      double factor = yuv.matrix[c][k];
      if (plan.model == ColorModel::kRgb) factor = c == k ? yuv.matrix[0][0] : 0;
      to_rgb.matrix[c][k] = factor;
      to_rgb.offset[c] -= factor * origin;
    }
  }
  return to_rgb;
}

ImageMaps MakeImageMaps(const ConversionPlan& plan) {
  ImageMaps maps;
  const SourceToRgb to_rgb = MakeSourceToRgb(plan);
  if (plan.output.pixel_format != PixelFormat::kGray) {
    maps.components = to_rgb.components;
    for (int c = 0; c < 3; ++c) {
      const int from = plan.output.pixel_format == PixelFormat::kBgr ? 2 - c : c;
      maps.channels.push_back(
          MakeChannelMap(plan.output, to_rgb.matrix[from], to_rgb.offset[from], c));
    }
    return maps;
  }
  double factor[3] = {0, 0, 0}, offset = 0;
  if (plan.model == ColorModel::kRgb) {
    const double weights[3] = {plan.weights.kr, 1 - plan.weights.kr - plan.weights.kb,
                               plan.weights.kb};
    for (int c = 0; c < 3; ++c) {
      factor[c] = weights[c] * to_rgb.matrix[c][c];
      offset += weights[c] * to_rgb.offset[c];
    }
  } else {
    maps.components = 1;
    const YuvToRgb luma = MakeYuvToRgb(plan.weights, plan.range, DepthOf(plan.source, 0));
    factor[0] = luma.matrix[0][0];
    offset = -luma.matrix[0][0] * luma.luma_offset;
  }
  maps.channels.push_back(MakeChannelMap(plan.output, factor, offset, 0));
  return maps;
}

LinearMap MakePlaneMap(const ConversionPlan& plan, int component, int output_depth) {
  LinearMap map;
  map.low = 0;
  map.high = static_cast<float>((1 << output_depth) - 1);
  if (plan.model == ColorModel::kRgb) {
    const SourceToRgb to_rgb = MakeSourceToRgb(plan);
    const RgbToYuv to_yuv = MakeRgbToYuv(plan.weights, ColorRange::kLimited, output_depth);
    double offset = to_yuv.offset[component];
    for (int k = 0; k < 3; ++k) {
      map.factor[k] = static_cast<float>(to_yuv.matrix[component][k] * to_rgb.matrix[k][k]);
      offset += to_yuv.matrix[component][k] * to_rgb.offset[k];
    }
    map.offset = static_cast<float>(offset);
    return map;
  }
  if (component > 0 && plan.model == ColorModel::kGray) {
    map.offset = static_cast<float>(1 << (output_depth - 1));
    return map;
  }
  const YuvToRgb from = MakeYuvToRgb(plan.weights, plan.range, DepthOf(plan.source, component));
  const YuvToRgb to = MakeYuvToRgb(plan.weights, plan.range, output_depth);
  const double factor = from.matrix[0][0] / to.matrix[0][0];
  map.factor[0] = static_cast<float>(factor);
  map.offset = static_cast<float>(component == 0 ? to.luma_offset - from.luma_offset * factor
                                                 : to.chroma_offset - from.chroma_offset * factor);
  return map;
}

}  // namespace nvc
