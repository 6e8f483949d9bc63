// Defines owning pointers for FFmpeg's objects, and the copy of a stream's parameters.
#ifndef TF_NVCODEC_CORE_FFMPEG_AV_PTR_H_
#define TF_NVCODEC_CORE_FFMPEG_AV_PTR_H_

#include <memory>

#include "absl/status/statusor.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/frame.h>
}

namespace nvc {

struct AvFrameDeleter {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct AvPacketDeleter {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct AvCodecContextDeleter {
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
};
struct AvCodecParametersDeleter {
  void operator()(AVCodecParameters* parameters) const { avcodec_parameters_free(&parameters); }
};

using AvFramePtr = std::unique_ptr<AVFrame, AvFrameDeleter>;
using AvPacketPtr = std::unique_ptr<AVPacket, AvPacketDeleter>;
using AvCodecContextPtr = std::unique_ptr<AVCodecContext, AvCodecContextDeleter>;
using AvCodecParametersPtr = std::unique_ptr<AVCodecParameters, AvCodecParametersDeleter>;

inline absl::StatusOr<AvCodecParametersPtr> CopyOf(const AVCodecParameters& codec) {
  AvCodecParametersPtr copy(avcodec_parameters_alloc());
  if (copy == nullptr || avcodec_parameters_copy(copy.get(), &codec) < 0) {
    return absl::ResourceExhaustedError("out of memory for a stream's parameters");
  }
  return copy;
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_AV_PTR_H_
