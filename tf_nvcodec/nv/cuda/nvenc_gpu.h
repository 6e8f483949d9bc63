// Which GPU encodes, and the same GPU as libavcodec knows it.
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

// What the GPU of `context` encodes, by the names of the Python API. FailedPrecondition reads
// "no NVENC on NVIDIA H200 (...)".
absl::StatusOr<std::vector<std::string>> NvencCodecs(const NvencDriver& nvenc, CUcontext context,
                                                     absl::string_view gpu_name);

struct NvencCapability {
  const char* name;  // of NV_ENC_CAPS, in lower case and without what they all begin with
  int value;
};

// What the NVENC of that context's GPU says of its encoder of `codec`; less what an older driver
// does not know. Unimplemented when it has none, otherwise as NvencCodecs.
absl::StatusOr<std::vector<NvencCapability>> NvencCapabilities(const NvencDriver& nvenc,
                                                               CUcontext context,
                                                               absl::string_view gpu_name,
                                                               absl::string_view codec);

// libavutil's view of the GPU: its primary context, so that nobody makes another one. The caller's
// to unreference. FailedPrecondition when this libavutil knows no CUDA.
absl::StatusOr<AVBufferRef*> NewCudaDevice(const GpuDevice& gpu);

struct NvencGpu {
  GpuDevice* gpu = nullptr;
  std::string name;
  std::vector<std::string> codecs;
  // Of NewCudaDevice; shared by the process and never freed.
  AVBufferRef* device = nullptr;
};

// The first GPU with an NVENC. FailedPrecondition names the library or the GPU that lacks it.
// Found once; a failure is asked again, since sessions may be short for a while.
absl::StatusOr<const NvencGpu*> FindNvencGpu();
// The GPU of that ordinal, or why it doesn't encode.
absl::StatusOr<const NvencGpu*> GetNvencGpu(int ordinal);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_NVENC_GPU_H_
