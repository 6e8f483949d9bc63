// Whether this machine's GPUs can decode and encode video at all; which streams fit is asked of
// each stream.
#ifndef TF_NVCODEC_NV_CUDA_AVAILABILITY_H_
#define TF_NVCODEC_NV_CUDA_AVAILABILITY_H_

#include <string>

#include "absl/status/statusor.h"

namespace nvc {

// The first GPU that has the engine, as "NVIDIA H200: h264, hevc, vp9". FailedPrecondition names
// the library or the GPU that lacks it. Creates the GPU's primary context for the question.
absl::StatusOr<std::string> FindNvdec();
absl::StatusOr<std::string> FindNvenc();

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_AVAILABILITY_H_
