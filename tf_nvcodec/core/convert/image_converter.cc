// rgb, bgr and gray tensors from any readable frame, by way of float rows.
#include <utility>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/component_axis.h"
#include "tf_nvcodec/core/convert/conversion_maps.h"
#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {
namespace {

class ImageConverter : public FrameConverter {
 public:
  ImageConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape),
        type_(plan.output.sample_type),
        maps_(MakeImageMaps(plan)),
        stream_(plan.geometry.rotation == 0 && shape.bytes >= kStreamedBytes) {
    const Geometry& geometry = plan.geometry;
    const int channels = shape.channels;
    for (int k = 0; k < maps_.components; ++k) {
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
      for (int k = 0; k < maps_.components; ++k) inputs[k] = resamplers_[k].Row(y);
      const float* outputs[3] = {nullptr, nullptr, nullptr};
      for (size_t c = 0; c < maps_.channels.size(); ++c) {
        float* row = rows_.data() + c * width;
        kernels_.map(maps_.channels[c], inputs, maps_.components, width, row);
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
  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  SampleType type_;
  ImageMaps maps_;
  bool stream_;
  int channels_of_sink_;
  std::vector<PlaneResampler> resamplers_;
  std::vector<RowSink> sinks_;
  std::vector<float> rows_;
};

}  // namespace

FrameShape MakeImageShape(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  shape.channels = Channels(plan.output.pixel_format);
  shape.bytes = static_cast<size_t>(shape.height) * shape.width * shape.channels *
                SampleSize(plan.output.sample_type);
  return shape;
}

std::unique_ptr<FrameConverter> MakeImageConverter(const ConversionPlan& plan) {
  const FrameShape shape = MakeImageShape(plan);
  if (CanMakeRgb8Converter(plan)) return MakeRgb8Converter(plan, shape);
  if (CanMakeRgbCopyConverter(plan)) return MakeRgbCopyConverter(plan, shape);
  return std::make_unique<ImageConverter>(plan, shape);
}

}  // namespace nvc
