// Chooses between NVENC and FFmpeg's encoders on the CPU for a batch of frames.
#ifndef TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_
#define TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/mux/video_writer.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"

namespace nvc {

// kAuto takes NVENC if a GPU has it and the options mean the same there as on the CPU.
enum class EncodeBackend { kAuto, kCpu, kNvenc };

absl::StatusOr<EncodeBackend> ParseEncodeBackend(absl::string_view name);

// Returns whether TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set. Without it kAuto means kCpu, because no
// GPU with an NVENC has run this code yet.
bool NvencIsOn();

// Returns OK if NVENC would make the same kind of stream as the CPU's encoder. Otherwise returns
// Unimplemented with the first difference: the codec, an option that only one encoder has, or
// another stream format.
absl::Status NvencMeansTheSame(const FrameBatch& frames, const EncodeOptions& options);

// Returns Unimplemented, with the codecs that the GPU's NVENC has, if `codec` is not one of them.
absl::Status CheckNvencCodec(const NvencGpu& gpu, EncodeCodec codec);

// The functions that find a GPU and encode. Tests replace them.
struct EncodeEngines {
  bool auto_tries_nvenc = NvencIsOn();
  std::function<absl::StatusOr<const NvencGpu*>()> find = FindNvencGpu;
  std::function<absl::Status(const FrameBatch&, const FrameTiming&, const EncodeOptions&,
                             const Cancelled&, GrowingBytes*)>
      write = WriteVideo;
};

// Encodes like WriteVideo. With kAuto, if frames that could have gone to NVENC go to the CPU, calls
// `say` with the reason. With kNvenc, returns FailedPrecondition, which names the GPU without NVENC
// or the missing library, or Unimplemented for what the GPU or libavcodec can't make.
absl::Status EncodeWith(const EncodeEngines& engines, EncodeBackend backend,
                        const FrameBatch& frames, const FrameTiming& timing,
                        const EncodeOptions& options, const Cancelled& cancelled, GrowingBytes* out,
                        const std::function<void(const std::string&)>& say);

// Returns `bytes` of host memory that stay valid until the encode is over.
using HostMemory = std::function<absl::StatusOr<void*>(size_t bytes)>;

// Returns the engines for frames in memory of `gpu`, which are complete when the work now queued on
// `stream` is done. That GPU's NVENC reads the frames where they are. For an encoder on the CPU all
// frames are copied once to memory from `host`. Once the write returns, nothing refers to the
// frames.
EncodeEngines EnginesOnGpu(GpuDevice* gpu, CUstream stream, HostMemory host);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_
