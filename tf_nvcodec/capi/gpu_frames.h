// NVDEC for the C API: which GPU decodes, and frames of its pictures.
#ifndef TF_NVCODEC_CAPI_GPU_FRAMES_H_
#define TF_NVCODEC_CAPI_GPU_FRAMES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/decoder.h"
#include "tf_nvcodec/capi/frame_maker.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

// Of nvc_decoder_options.
enum { kBackendAuto = 0, kBackendFfmpeg = 1, kBackendNvdec = 2 };

// Without NVDEC the CPU decodes, unless frames are to stay on the GPU or the backend is NVDEC:
// FailedPrecondition tells why there is none. InvalidArgument: what is no context of the GPU, or
// no stream of that context.
absl::StatusOr<GpuChoice> ChooseGpu(const nvc_decoder_options& options);

absl::StatusOr<std::unique_ptr<Decoder>> OpenGpuDecoder(const GpuChoice& gpu,
                                                        const AVCodecParameters& codec,
                                                        AVRational time_base,
                                                        const DecoderOptions& options);

// Of NVDEC's pictures and FFmpeg's, in the memory that was chosen.
absl::StatusOr<std::unique_ptr<FrameMaker>> MakeFrames(const GpuChoice& gpu, SurfaceColor color);

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_GPU_FRAMES_H_
