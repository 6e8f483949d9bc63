// The codecs that NVDEC is used for.
#ifndef TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
#define TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/driver.h"

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace nvc {

// All of them, where a GPU has them.
std::vector<cudaVideoCodec> NvdecCodecs();

// NVIDIA's name of a codec. Unimplemented for those that NVDEC is never used for.
absl::StatusOr<cudaVideoCodec> NvdecCodec(AVCodecID codec);

// NVIDIA's numbers also name codecs that FFmpeg decodes here: -1 or AV_CODEC_ID_NONE where the
// other side has none.
int NvdecNumberOf(AVCodecID codec);
AVCodecID CodecOfNvdecNumber(int number);

// FFmpeg's name of a codec.
const char* NvdecCodecName(cudaVideoCodec codec);

// Unimplemented also for codecs that NVDEC decodes only where backend="nvdec" asks for it: a
// picture that it gets wrong may come in the middle of a stream.
absl::Status CheckTakenUnasked(AVCodecID codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
