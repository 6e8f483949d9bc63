#include "tf_nvcodec/nv/encode/gpu_encode.h"

#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/nv/cuda/gpu_copy.h"
#include "tf_nvcodec/nv/encode/gpu_frame_loader.h"

namespace nvc {

EncodeEngines EnginesOnGpu(GpuDevice* gpu, CUstream stream, HostMemory host) {
  EncodeEngines engines;
  engines.find = [gpu] { return GetNvencGpu(gpu->ordinal()); };
  engines.write = [gpu, producer = stream, host = std::move(host)](
                      const FrameBatch& frames, const FrameTiming& timing,
                      const EncodeOptions& options, const Cancelled& cancelled,
                      GrowingBytes* out) -> absl::Status {
    if (options.engine == EncodeEngine::kNvenc) {
      const OpenFrames open = [&](const StreamSpec& stream) {
        return GpuFrameLoader::Create(gpu, options.gpu, producer, frames, stream);
      };
      return WriteVideoFrom(frames, open, timing, options, cancelled, out);
    }
    // What no encoder takes is told before it is copied.
    NVC_RETURN_IF_ERROR(frames.Validate());
    NVC_RETURN_IF_ERROR(options.Validate());
    NVC_RETURN_IF_ERROR(ChooseStream(frames, options).status());
    const size_t bytes = frames.frame_bytes * static_cast<size_t>(frames.count);
    NVC_ASSIGN_OR_RETURN(void* const copy, host(bytes));
    NVC_RETURN_IF_ERROR(
        CopyToHost(gpu, producer, copy, reinterpret_cast<CUdeviceptr>(frames.data), bytes));
    FrameBatch on_host = frames;
    on_host.data = copy;
    return WriteVideo(on_host, timing, options, cancelled, out);
  };
  return engines;
}

}  // namespace nvc
