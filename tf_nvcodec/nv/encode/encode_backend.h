// Chooses between NVENC and the CPU's encoders for a batch of frames.
#ifndef TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_
#define TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/mux/video_writer.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/cuda/nvenc_gpu.h"

namespace nvc {

// kAuto: NVENC where a GPU has it and the options mean there what they mean on the CPU.
enum class EncodeBackend { kAuto, kCpu, kNvenc };

absl::StatusOr<EncodeBackend> ParseEncodeBackend(absl::string_view name);

// Whether TF_NVCODEC_EXPERIMENTAL_NVENC=1 is set. Until NVENC's path has run on a GPU that has
// one, kAuto is kCpu without it.
bool NvencIsOn();

// OK, or Unimplemented with the first thing that NVENC would do otherwise than the CPU's encoder:
// the codec, options of one encoder only, or another stream format.
absl::Status NvencMeansTheSame(const FrameBatch& frames, const EncodeOptions& options);

// Unimplemented with what the GPU's NVENC encodes in place of the codec.
absl::Status CheckNvencCodec(const NvencGpu& gpu, EncodeCodec codec);

// What encodes; tests put others in.
struct EncodeEngines {
  bool auto_tries_nvenc = NvencIsOn();
  std::function<absl::StatusOr<const NvencGpu*>()> find = FindNvencGpu;
  std::function<absl::Status(const FrameBatch&, const FrameTiming&, const EncodeOptions&,
                             const Cancelled&, GrowingBytes*)>
      write = WriteVideo;
};

// As WriteVideo. With kAuto, `say` gets the reason when frames that might have gone to NVENC went
// to the CPU. With kNvenc: FailedPrecondition "no NVENC on <GPU>" or with the missing library,
// Unimplemented for what GPU or libavcodec can't make.
absl::Status EncodeWith(const EncodeEngines& engines, EncodeBackend backend,
                        const FrameBatch& frames, const FrameTiming& timing,
                        const EncodeOptions& options, const Cancelled& cancelled, GrowingBytes* out,
                        const std::function<void(const std::string&)>& say);

// `bytes` of host memory that stay until the encode is over.
using HostMemory = std::function<absl::StatusOr<void*>(size_t bytes)>;

// For frames whose data is memory of `gpu`, complete once what is queued on `stream` is: the NVENC
// of that GPU gets them there; for the CPU's encoders all of them are copied to `host`, once. The
// frames are not referred to once the write returns.
EncodeEngines EnginesOnGpu(GpuDevice* gpu, CUstream stream, HostMemory host);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_ENCODE_BACKEND_H_
