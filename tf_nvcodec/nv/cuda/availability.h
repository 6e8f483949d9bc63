// Says whether this machine's GPUs can decode and encode video at all. Whether a GPU takes one
// particular stream is checked when that stream is opened.
#ifndef TF_NVCODEC_NV_CUDA_AVAILABILITY_H_
#define TF_NVCODEC_NV_CUDA_AVAILABILITY_H_

#include <string>

#include "absl/status/statusor.h"

namespace nvc {

// Returns the first GPU that has the engine, such as "NVIDIA H200: h264, hevc, vp9". Returns
// FailedPrecondition, which names the missing library or the GPU without the engine. Creates the
// GPU's primary context.
absl::StatusOr<std::string> FindNvdec();
absl::StatusOr<std::string> FindNvenc();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_AVAILABILITY_H_
