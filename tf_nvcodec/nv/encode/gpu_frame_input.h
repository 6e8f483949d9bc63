// Takes frames that a caller has in GPU memory to an encoder: one by one, or a batch of them as a
// FrameSource.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_
#define TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"
#include "tf_nvcodec/nv/cuda/cuda_objects.h"
#include "tf_nvcodec/nv/cuda/gpu_device.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

extern "C" {
#include <libavutil/frame.h>
}

namespace nvc {

// `rows` rows of `row_bytes` bytes, `pitch` bytes apart. A packed frame consists of several of
// these, one after the other, without gaps.
struct GpuRows {
  CUdeviceptr data = 0;
  size_t row_bytes = 0, rows = 0, pitch = 0;
};

// Returns the GPU that owns the memory at an address. Returns InvalidArgument if no GPU owns it,
// and FailedPrecondition without a driver.
absl::StatusOr<GpuDevice*> GpuOfMemory(CUdeviceptr memory);

// Reads a caller's frames on a stream of its own. Not thread-safe.
class GpuFrameInput {
 public:
  static absl::StatusOr<std::unique_ptr<GpuFrameInput>> Create(GpuDevice* device);

  GpuDevice* device() const { return device_; }
  // The stream that reads frames. A caller that writes frames on another stream may order the two
  // itself.
  CUstream stream() const { return stream_.get(); }
  // Makes all later reads wait for the work now queued on `producer`.
  absl::Status WaitFor(CUstream producer);

  // Copies the packed frame, `bytes` in all. When one of the functions below returns, the caller
  // may change the rows.
  absl::Status CopyTo(void* host, absl::Span<const GpuRows> rows, size_t bytes);
  // `frame` is a CUDA frame on this GPU with the same layout as the packed frame.
  absl::Status CopyTo(AVFrame* frame, absl::Span<const GpuRows> rows);
  // Does the same for a frame of another layout.
  absl::Status ConvertTo(AVFrame* frame, absl::Span<const GpuRows> rows,
                         const GpuToPlanes& converter);
  // Waits for all queued work. Needed after an error, which may leave some.
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

// Loads the frames of a batch one at a time for an encoder on the GPU. It reads them on a stream of
// its own, so that it does not wait for work that the producer queues later.
class GpuFrameLoader : public FrameSource {
 public:
  // `frames.data` is memory of `gpu`. It is complete when the work now queued on `producer` is
  // done, and must outlive the loader. `device` is libavutil's context for that GPU. Returns
  // Unimplemented for a stream format that frames in GPU memory can't be converted to.
  static absl::StatusOr<std::unique_ptr<FrameSource>> Create(GpuDevice* gpu, AVBufferRef* device,
                                                             CUstream producer,
                                                             const FrameBatch& frames,
                                                             const StreamSpec& stream);
  ~GpuFrameLoader() override;

  absl::StatusOr<AvFramePtr> Load(int64_t index) override;
  const GpuFramePool* gpu_frames() const override { return pool_.get(); }

 private:
  GpuFrameLoader(const FrameBatch& frames, const StreamSpec& stream)
      : frames_(frames), stream_(stream) {}

  std::unique_ptr<GpuFrameInput> input_;
  std::unique_ptr<GpuFramePool> pool_;
  std::unique_ptr<GpuToPlanes> converter_;  // null if the frames have the stream's layout
  const FrameBatch frames_;
  const StreamSpec stream_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_FRAME_INPUT_H_
