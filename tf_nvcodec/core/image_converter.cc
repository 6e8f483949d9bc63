// rgb, bgr and gray tensors from any readable frame, by way of float rows.
#include <algorithm>
#include <utility>
#include <vector>

#include "tf_nvcodec/core/component_axis.h"
#include "tf_nvcodec/core/converters.h"
#include "tf_nvcodec/core/row_sink.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

// Clamps to [0, 1] and goes on to the element's scale, or to (x - mean) / std.
LinearMap MakeMap(const OutputSpec& output, const double factor[3], double offset, int channel) {
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

class ImageConverter : public FrameConverter {
 public:
  ImageConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape),
        type_(plan.output.sample_type),
        stream_(plan.geometry.rotation == 0 && shape.bytes >= kStreamedBytes) {
    const Geometry& geometry = plan.geometry;
    const SourceToRgb to_rgb = MakeSourceToRgb(plan);
    const int channels = shape.channels;
    if (channels == 3) {
      components_ = to_rgb.components;
      for (int c = 0; c < 3; ++c) {
        const int from = plan.output.pixel_format == PixelFormat::kBgr ? 2 - c : c;
        maps_.push_back(MakeMap(plan.output, to_rgb.matrix[from], to_rgb.offset[from], c));
      }
    } else {
      double factor[3] = {0, 0, 0}, offset = 0;
      if (plan.model == ColorModel::kRgb) {
        components_ = 3;
        const double weights[3] = {plan.weights.kr, 1 - plan.weights.kr - plan.weights.kb,
                                   plan.weights.kb};
        for (int c = 0; c < 3; ++c) {
          factor[c] = weights[c] * to_rgb.matrix[c][c];
          offset += weights[c] * to_rgb.offset[c];
        }
      } else {
        components_ = 1;
        const YuvToRgb luma = MakeYuvToRgb(plan.weights, plan.range, LumaDepth(plan.source));
        factor[0] = luma.matrix[0][0];
        offset = -luma.matrix[0][0] * luma.luma_offset;
      }
      maps_.push_back(MakeMap(plan.output, factor, offset, 0));
    }
    for (int k = 0; k < components_; ++k) {
      resamplers_.push_back(MakeResampler(plan.output, plan.source, geometry, k, 0));
    }
    const bool planar = plan.output.layout == Layout::kTchw;
    const size_t element = SampleSize(type_);
    channels_of_sink_ = planar ? 1 : channels;
    for (int s = 0; s < (planar ? channels : 1); ++s) {
      sinks_.emplace_back(geometry.rotation, geometry.stored_width, geometry.stored_height,
                          element * channels_of_sink_);
    }
    rows_.resize(static_cast<size_t>(channels) * geometry.stored_width);
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes);
    }
    for (PlaneResampler& resampler : resamplers_) resampler.Begin(frame);
    const int height = resamplers_[0].height(), width = resamplers_[0].width();
    for (int y = 0; y < height; ++y) {
      const float* inputs[3] = {nullptr, nullptr, nullptr};
      for (int k = 0; k < components_; ++k) inputs[k] = resamplers_[k].Row(y);
      const float* outputs[3] = {nullptr, nullptr, nullptr};
      for (size_t c = 0; c < maps_.size(); ++c) {
        float* row = rows_.data() + c * width;
        kernels_.map(maps_[c], inputs, components_, width, row);
        outputs[c] = row;
      }
      for (size_t s = 0; s < sinks_.size(); ++s) {
        kernels_.pack(outputs + s, channels_of_sink_, width, type_, 0, stream_, sinks_[s].Row(y));
        sinks_[s].Commit(y);
      }
    }
    if (stream_) kernels_.fence();
    return absl::OkStatus();
  }

 private:
  static int LumaDepth(const SourceSpec& source) {
    return PlaneReader(source.format, source.width, source.height, 0).depth();
  }

  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  bool stream_;
  int components_;
  int channels_of_sink_;
  std::vector<LinearMap> maps_;
  std::vector<PlaneResampler> resamplers_;
  std::vector<RowSink> sinks_;
  std::vector<float> rows_;
};

}  // namespace

SourceToRgb MakeSourceToRgb(const ConversionPlan& plan) {
  const SourceSpec& source = plan.source;
  SourceToRgb to_rgb;
  to_rgb.components = plan.model == ColorModel::kGray ? 1 : 3;
  for (int k = 0; k < to_rgb.components; ++k) {
    const int depth = PlaneReader(source.format, source.width, source.height, k).depth();
    const YuvToRgb yuv = MakeYuvToRgb(plan.weights, plan.range, depth);
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

std::unique_ptr<FrameConverter> MakeImageConverter(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  shape.channels = Channels(plan.output.pixel_format);
  shape.bytes = static_cast<size_t>(shape.height) * shape.width * shape.channels *
                SampleSize(plan.output.sample_type);
  if (CanMakeRgb8Converter(plan)) return MakeRgb8Converter(plan, shape);
  if (CanMakeRgbCopyConverter(plan)) return MakeRgbCopyConverter(plan, shape);
  return std::make_unique<ImageConverter>(plan, shape);
}

}  // namespace nvc
