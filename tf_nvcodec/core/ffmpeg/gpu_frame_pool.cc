#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"

extern "C" {
#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

absl::Status GpuError(int averror, const std::string& doing, const AvLogScope& log) {
  const std::string message = absl::StrCat(doing, ": ", FfmpegErrorText(averror), log.Detail());
  if (averror == AVERROR(ENOMEM)) return absl::ResourceExhaustedError(message);
  if (averror == AVERROR(ENOSYS)) return absl::UnimplementedError(message);
  return absl::InternalError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GpuFramePool>> GpuFramePool::Create(AVBufferRef* device,
                                                                   AVPixelFormat layout, int width,
                                                                   int height) {
  AvLogScope log;
  AVBufferRef* frames = av_hwframe_ctx_alloc(device);
  if (frames == nullptr) return absl::ResourceExhaustedError("out of memory for GPU frames");
  std::unique_ptr<GpuFramePool> pool(new GpuFramePool(frames, layout));
  auto* const context = reinterpret_cast<AVHWFramesContext*>(frames->data);
  context->format = AV_PIX_FMT_CUDA;
  context->sw_format = layout;
  context->width = width;
  context->height = height;
  const int result = av_hwframe_ctx_init(frames);
  if (result >= 0) return pool;
  return GpuError(result,
                  absl::StrCat("making frames of ", width, "x", height, " (width x height) in ",
                               av_get_pix_fmt_name(layout), " on the GPU"),
                  log);
}

absl::StatusOr<AvFramePtr> GpuFramePool::Take() const {
  AvFramePtr frame(av_frame_alloc());
  if (frame == nullptr) return absl::ResourceExhaustedError("out of memory for a frame");
  AvLogScope log;
  const int result = av_hwframe_get_buffer(frames_, frame.get(), /*flags=*/0);
  if (result >= 0) return frame;
  return GpuError(result, "allocating a frame on the GPU", log);
}

absl::StatusOr<AvFramePtr> GpuFramePool::Upload(const AVFrame& frame) const {
  NVC_ASSIGN_OR_RETURN(AvFramePtr uploaded, Take());
  AvLogScope log;
  int result = av_hwframe_transfer_data(uploaded.get(), &frame, /*flags=*/0);
  if (result >= 0) result = av_frame_copy_props(uploaded.get(), &frame);
  if (result >= 0) return uploaded;
  return GpuError(result, "copying a frame to the GPU", log);
}

}  // namespace nvc
