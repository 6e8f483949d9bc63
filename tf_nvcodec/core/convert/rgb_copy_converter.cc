// 8-bit rgb and bgr of 8-bit full-range RGB frames that are not resized: bytes only move.
#include <cstring>
#include <vector>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/convert/row_sink.h"

namespace nvc {
namespace {

class RgbCopyConverter : public FrameConverter {
 public:
  RgbCopyConverter(const ConversionPlan& plan, const FrameShape& shape)
      : FrameConverter(plan.source, shape), crop_(plan.geometry.crop) {
    for (int c = 0; c < 3; ++c) {
      const int from = plan.output.pixel_format == PixelFormat::kBgr ? 2 - c : c;
      readers_.emplace_back(plan.source.format, plan.source.width, plan.source.height, from);
    }
    const bool planar = plan.output.layout == Layout::kTchw;
    for (int s = 0; s < (planar ? 3 : 1); ++s) {
      sinks_.emplace_back(plan.geometry.rotation, crop_.width, crop_.height, planar ? 1 : 3);
    }
  }

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const size_t sink_bytes = shape().bytes / sinks_.size();
    for (size_t s = 0; s < sinks_.size(); ++s) {
      sinks_[s].Begin(static_cast<uint8_t*>(out) + s * sink_bytes);
    }
    for (int y = 0; y < crop_.height; ++y) {
      const uint8_t* rows[3];
      for (int c = 0; c < 3; ++c) {
        rows[c] = static_cast<const uint8_t*>(
            readers_[c].Row(frame, crop_.top + y, crop_.left, crop_.width));
      }
      if (sinks_.size() == 1) {
        kernels_.interleave_bytes(rows, 3, crop_.width, sinks_[0].Row(y));
      } else {
        for (int c = 0; c < 3; ++c) memcpy(sinks_[c].Row(y), rows[c], crop_.width);
      }
      for (RowSink& sink : sinks_) sink.Commit(y);
    }
    return absl::OkStatus();
  }

 private:
  const PackKernels& kernels_ = GetPackKernels(BestSimd());
  Crop crop_;
  std::vector<PlaneReader> readers_;  // in the order of the output's channels
  std::vector<RowSink> sinks_;
};

}  // namespace

bool CanMakeRgbCopyConverter(const ConversionPlan& plan) {
  if (plan.model != ColorModel::kRgb || plan.range != ColorRange::kFull || plan.geometry.resized ||
      plan.output.sample_type != SampleType::kUint8 ||
      plan.output.pixel_format == PixelFormat::kGray) {
    return false;
  }
  for (int c = 0; c < 3; ++c) {
    const PlaneReader reader(plan.source.format, plan.source.width, plan.source.height, c);
    if (reader.depth() != 8 || reader.wide()) return false;
  }
  return true;
}

std::unique_ptr<FrameConverter> MakeRgbCopyConverter(const ConversionPlan& plan,
                                                     const FrameShape& shape) {
  return std::make_unique<RgbCopyConverter>(plan, shape);
}

}  // namespace nvc
