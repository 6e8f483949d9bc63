// What a GPU's NVDEC takes.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// What a stream asks of NVDEC; sizes as coded.
struct NvdecFormat {
  cudaVideoCodec codec = cudaVideoCodec_NumCodecs;
  cudaVideoChromaFormat chroma = cudaVideoChromaFormat_420;
  int bit_depth = 8;
  int width = 0, height = 0;
};

// What its pictures are mapped as. Not for 4:2:2.
cudaVideoSurfaceFormat NvdecSurfaceFormat(cudaVideoChromaFormat chroma, int bit_depth);

// Unimplemented says which of codec, chroma, depth or size it is, and what the GPU takes;
// FailedPrecondition where there is no NVDEC at all. The GPU is asked once for each kind.
absl::Status CheckNvdecTakes(GpuDevice* device, const NvdecFormat& format);

// The same for a stream as its container describes it. What the container does not tell is left
// to the decoder, which sees the stream's own headers.
absl::Status CheckNvdecTakes(GpuDevice* device, const AVCodecParameters& codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_CAPS_H_
