// nv12, yuv420p, yuv444p and p010: planes packed one after the other, in the source's own matrix
// and range.
#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/image_converters.h"
#include "tf_nvcodec/core/convert/yuv_planes.h"

namespace nvc {
namespace {

class YuvConverter : public FrameConverter {
 public:
  YuvConverter(const ConversionPlan& plan, const FrameShape& shape,
               std::vector<std::unique_ptr<OutputPlane>> planes)
      : FrameConverter(plan.source, shape), planes_(std::move(planes)) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    uint8_t* to = static_cast<uint8_t*>(out);
    for (const auto& plane : planes_) {
      plane->Convert(frame, to);
      to += plane->bytes();
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<OutputPlane>> planes_;
};

}  // namespace

std::unique_ptr<FrameConverter> MakeYuvConverter(const ConversionPlan& plan) {
  FrameShape shape;
  shape.height = plan.geometry.height;
  shape.width = plan.geometry.width;
  std::vector<std::unique_ptr<OutputPlane>> planes = MakeOutputPlanes(plan);
  for (const auto& plane : planes) shape.bytes += plane->bytes();
  return std::make_unique<YuvConverter>(plan, shape, std::move(planes));
}

}  // namespace nvc
