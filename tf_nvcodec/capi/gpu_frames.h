// NVDEC for the C API: which GPU decodes, and frames of its pictures.
#ifndef TF_NVCODEC_CAPI_GPU_FRAMES_H_
#define TF_NVCODEC_CAPI_GPU_FRAMES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/frame_maker.h"
#include "tf_nvcodec/core/decoder.h"

namespace nvc {

// With PyNvVideoCodec's arguments. Without NVDEC the CPU decodes, unless frames are to stay on the
// GPU or `must` says that it has to be NVDEC: FailedPrecondition tells why there is none.
// InvalidArgument: a context that is not the primary one of GPU `gpu`.
absl::StatusOr<GpuChoice> ChooseGpu(int gpu, bool frames_stay, bool must, uint64_t context,
                                    uint64_t stream);

absl::StatusOr<std::unique_ptr<Decoder>> OpenGpuDecoder(const GpuChoice& gpu,
                                                        const AVCodecParameters& codec,
                                                        AVRational time_base,
                                                        const DecoderOptions& options);

// Of NVDEC's pictures, in the GPU's memory or the host's.
absl::StatusOr<std::unique_ptr<FrameMaker>> MakeGpuFrames(const GpuChoice& gpu, SurfaceColor color);

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_GPU_FRAMES_H_
