// Loads frames from GPU memory for an encoder; they never leave the GPU.
#ifndef TF_NVCODEC_NV_ENCODE_GPU_FRAME_LOADER_H_
#define TF_NVCODEC_NV_ENCODE_GPU_FRAME_LOADER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"
#include "tf_nvcodec/nv/encode/gpu_frame_input.h"
#include "tf_nvcodec/nv/encode/gpu_to_planes.h"

namespace nvc {

// Loads one frame at a time, on a stream of its own, so that it does not wait for work that the
// producer queues later.
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

#endif  // TF_NVCODEC_NV_ENCODE_GPU_FRAME_LOADER_H_
