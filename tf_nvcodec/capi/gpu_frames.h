// NVDEC for the C API: chooses the GPU, opens its decoder and makes frames of its pictures.
#ifndef TF_NVCODEC_CAPI_GPU_FRAMES_H_
#define TF_NVCODEC_CAPI_GPU_FRAMES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/decoder.h"
#include "tf_nvcodec/capi/frame_maker.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

// Values of nvc_decoder_options::backend.
enum { kBackendAuto = 0, kBackendFfmpeg = 1, kBackendNvdec = 2 };

// Chooses the GPU that decodes. Without NVDEC, chooses the CPU, unless frames must stay on the GPU
// or the backend is NVDEC; it then returns FailedPrecondition with the reason. Returns
// InvalidArgument if the options name a context that is not of this GPU, or a stream that is not of
// that context.
absl::StatusOr<GpuChoice> ChooseGpu(const nvc_decoder_options& options);

absl::StatusOr<std::unique_ptr<Decoder>> OpenGpuDecoder(const GpuChoice& gpu,
                                                        const AVCodecParameters& codec,
                                                        AVRational time_base,
                                                        const DecoderOptions& options);

// Returns a maker for pictures of NVDEC and of FFmpeg. Its frames are in the memory that `gpu`
// names.
absl::StatusOr<std::unique_ptr<FrameMaker>> MakeFrames(const GpuChoice& gpu, SurfaceColor color);

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_GPU_FRAMES_H_
