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

// NVIDIA's number of a codec. Unimplemented for those that NVDEC never has.
absl::StatusOr<cudaVideoCodec> NvdecCodec(AVCodecID codec);

// The other way: the codec of one of those numbers, AV_CODEC_ID_NONE of others.
AVCodecID CodecOfNvdecNumber(int number);

// FFmpeg's name of a codec.
const char* NvdecCodecName(cudaVideoCodec codec);

// Unimplemented for codecs that NVDEC decodes where it is asked to by name alone: a picture that it
// gets wrong may come in the middle of a stream.
absl::Status CheckTakenUnasked(AVCodecID codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
