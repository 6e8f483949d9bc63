// Frames that a caller has in a GPU's memory, on their way to an encoder.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_
#define TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// `rows` rows of `row_bytes`, `pitch` bytes apart. Those of a frame follow each other without a
// gap in the frame as it is packed in host memory.
struct GpuRows {
  CUdeviceptr data = 0;
  size_t row_bytes = 0, rows = 0, pitch = 0;
};

// The GPU that an address is of. InvalidArgument: of none; FailedPrecondition without a driver.
absl::StatusOr<GpuDevice*> GpuOfMemory(CUdeviceptr memory);

// Not thread-safe.
class GpuFrameInput {
 public:
  static absl::StatusOr<std::unique_ptr<GpuFrameInput>> Create(GpuDevice* device);

  GpuDevice* device() const { return device_; }
  // On which frames are read; who writes one may put it in order with this by himself.
  CUstream stream() const { return stream_.get(); }
  // Frames are read after what is now queued on `producer`.
  absl::Status WaitFor(CUstream producer);

  // The packed frame, of `bytes` in all. The rows may change as soon as these return.
  absl::Status CopyTo(void* host, absl::Span<const GpuRows> rows, size_t bytes);
  // `frame` is one of CUDA's on this GPU, whose layout is what is packed.
  absl::Status CopyTo(AVFrame* frame, absl::Span<const GpuRows> rows);
  // The same for frames of another layout.
  absl::Status ConvertTo(AVFrame* frame, absl::Span<const GpuRows> rows,
                         const GpuToPlanes& converter);
  // What was queued is done: after an error, which may leave some.
  absl::Status Finish() const { return stream_.Synchronize(); }

 private:
  GpuFrameInput(GpuDevice* device, CudaStream stream)
      : device_(device), stream_(std::move(stream)) {}
  absl::StatusOr<CUdeviceptr> Pack(absl::Span<const GpuRows> rows, size_t bytes);
  absl::Status Queue(const CUDA_MEMCPY2D& copy) const;

  GpuDevice* const device_;
  const CudaStream stream_;
  DeviceMemory packed_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_
