#include "tf_nvcodec/capi/frame_maker.h"

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/surface.h"

namespace nvc {
namespace {

class HostFrameMaker : public FrameMaker {
 public:
  explicit HostFrameMaker(SurfaceColor color) : writer_(color) {}

  absl::StatusOr<std::unique_ptr<nvc_frame>> Make(const AVFrame& picture) override {
    auto frame = std::make_unique<nvc_frame>();
    NVC_ASSIGN_OR_RETURN(frame->layout, writer_.LayoutOf(picture));
    NVC_ASSIGN_OR_RETURN(frame->memory, AllocateHostFrame(frame->layout.bytes));
    frame->pts = TimestampOf(picture);
    NVC_RETURN_IF_ERROR(
        writer_.Write(picture, frame->layout, static_cast<uint8_t*>(frame->memory->data())));
    return frame;
  }

 private:
  SurfaceWriter writer_;
};

}  // namespace

std::unique_ptr<FrameMaker> MakeHostFrames(SurfaceColor color) {
  return std::make_unique<HostFrameMaker>(color);
}

int64_t TimestampOf(const AVFrame& picture) {
  return picture.pts != AV_NOPTS_VALUE ? picture.pts : picture.best_effort_timestamp;
}

}  // namespace nvc
