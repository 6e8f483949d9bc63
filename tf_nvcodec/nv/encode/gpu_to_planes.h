// Frames in device memory to the planes that an encoder reads there.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_
#define TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// Gives what core's frame loader gives of the same frame for the same stream, bit for bit.
class GpuToPlanes {
 public:
  virtual ~GpuToPlanes() = default;

  virtual size_t frame_bytes() const = 0;
  // Queued on `stream`. `samples` are rows without padding; `frame` is one of CUDA's of the
  // stream's layout, on this GPU.
  virtual absl::Status Convert(CUstream stream, CUdeviceptr samples, AVFrame* frame) const = 0;
  // Whether a float was NaN or far outside [0, 1] in what is converted so far; to be asked when
  // the stream is done.
  virtual bool found_out_of_range() const { return false; }

 protected:
  GpuToPlanes() = default;
  GpuToPlanes(const GpuToPlanes&) = delete;
  GpuToPlanes& operator=(const GpuToPlanes&) = delete;

  // Queues `kernel`, which takes `params` and has a thread for each chroma sample.
  static absl::Status Launch(const GpuDevice& device, CUfunction kernel, void* params,
                             const char* doing, const AVFrame& frame, int chroma_shift,
                             CUstream stream);
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_TO_PLANES_H_
