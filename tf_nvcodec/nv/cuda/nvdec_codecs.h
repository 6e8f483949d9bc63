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

// FFmpeg's name of a codec.
const char* NvdecCodecName(cudaVideoCodec codec);

// Unimplemented also for codecs that NVDEC decodes only where backend="nvdec" asks for it: pictures
// that it gets wrong may come in the middle of a stream.
absl::Status CheckTakenUnasked(AVCodecID codec);

// Unimplemented also for codecs whose pictures may differ from FFmpeg's in the last bit.
absl::Status CheckExact(AVCodecID codec);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVDEC_CODECS_H_
