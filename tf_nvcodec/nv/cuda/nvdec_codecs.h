// Lists the codecs that we use NVDEC for.
#ifndef TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
#define TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/nv/cuda/driver.h"

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace nvc {

// Returns all codecs that NVDEC is used for. A GPU may lack some of them.
std::vector<cudaVideoCodec> NvdecCodecs();

// Returns NVIDIA's number of a codec, or Unimplemented for codecs that NVDEC is never used for.
absl::StatusOr<cudaVideoCodec> NvdecCodec(AVCodecID codec);

// Returns FFmpeg's name of a codec.
const char* NvdecCodecName(cudaVideoCodec codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
