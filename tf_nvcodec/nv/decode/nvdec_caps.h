// Checks whether a GPU's NVDEC can decode a stream.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// The properties of a stream that decide whether NVDEC can decode it. Sizes are those of the coded
// pictures.
struct NvdecFormat {
  cudaVideoCodec codec = cudaVideoCodec_NumCodecs;
  cudaVideoChromaFormat chroma = cudaVideoChromaFormat_420;
  int bit_depth = 8;
  int width = 0, height = 0;
};

// Returns the driver's answer of cuvidGetDecoderCaps, with bIsSupported 0 for formats that it does
// not know. Answers are cached.
absl::StatusOr<CUVIDDECODECAPS> NvdecCaps(GpuDevice* device, cudaVideoCodec codec,
                                          cudaVideoChromaFormat chroma, int bit_depth);

// Returns the format of the surfaces that NVDEC outputs. `chroma` must not be 4:2:2.
cudaVideoSurfaceFormat NvdecSurfaceFormat(cudaVideoChromaFormat chroma, int bit_depth);

// Returns Unimplemented if the GPU can't decode the format. The message says whether the codec, the
// chroma format, the bit depth or the size is the reason, and what the GPU can decode. Returns
// FailedPrecondition if the machine has no NVDEC.
absl::Status CheckNvdecTakes(GpuDevice* device, const NvdecFormat& format);

// The same for the description of a stream in its container. What the container does not tell, the
// decoder checks later with the stream's own headers.
absl::Status CheckNvdecTakes(GpuDevice* device, const AVCodecParameters& codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_
