// core's frame loader for frames in a GPU's memory: what an encoder is handed stays there.
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

// One frame at a time, on a stream of its own, so that nobody waits for the producer's later work.
class GpuFrameLoader : public FrameSource {
 public:
  // `frames.data` is memory of `gpu`, complete once what is now queued on `producer` is, and stays
  // as long as the loader; `device` is libavutil's view of that GPU. Unimplemented for a stream
  // that frames in device memory can't become.
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
  std::unique_ptr<GpuToPlanes> converter_;  // null: the frames are laid out as the stream
  const FrameBatch frames_;
  const StreamSpec stream_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_ENCODE_GPU_FRAME_LOADER_H_
