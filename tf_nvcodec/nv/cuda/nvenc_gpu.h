// Finds a GPU with an NVENC, asks for its codecs and capabilities, and makes libavutil's context
// for it.
#ifndef TF_NVCODEC_NV_CUDA_NVENC_GPU_H_
#define TF_NVCODEC_NV_CUDA_NVENC_GPU_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/nv/cuda/driver.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

extern "C" {
#include <libavutil/buffer.h>
}

namespace nvc {

// Returns the codecs that the GPU of `context` encodes, by their names in the Python API. Returns
// FailedPrecondition such as "no NVENC on NVIDIA H200 (...)".
absl::StatusOr<std::vector<std::string>> NvencCodecs(const NvencDriver& nvenc, CUcontext context,
                                                     absl::string_view gpu_name);

struct NvencCapability {
  const char* name;  // name in NV_ENC_CAPS, in lower case without the prefix
  int value;
};

// Returns the capabilities of the GPU's encoder for `codec`, without those that an older driver
// does not know. Returns Unimplemented if NVENC has no encoder for `codec`. Other errors are those
// of NvencCodecs.
absl::StatusOr<std::vector<NvencCapability>> NvencCapabilities(const NvencDriver& nvenc,
                                                               CUcontext context,
                                                               absl::string_view gpu_name,
                                                               absl::string_view codec);

// Returns libavutil's context for the GPU. It uses the GPU's primary context, so that nobody makes
// another one. The caller unreferences it. Returns FailedPrecondition if this libavutil is built
// without CUDA.
absl::StatusOr<AVBufferRef*> NewCudaDevice(const GpuDevice& gpu);

struct NvencGpu {
  GpuDevice* gpu = nullptr;
  std::string name;
  std::vector<std::string> codecs;
  // From NewCudaDevice. The process shares it and never frees it.
  AVBufferRef* device = nullptr;
};

// Returns the first GPU with an NVENC. Returns FailedPrecondition, which names the missing library
// or the GPU without NVENC. Keeps a success for the next call but not a failure, because all
// sessions may be in use for a while.
absl::StatusOr<const NvencGpu*> FindNvencGpu();
// Returns the GPU with that ordinal, or the reason why it does not encode.
absl::StatusOr<const NvencGpu*> GetNvencGpu(int ordinal);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVENC_GPU_H_
