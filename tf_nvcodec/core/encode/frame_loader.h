// Where an encoder's frames come from, one after the other: a batch in host memory, or one on a
// GPU.
#ifndef TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_
#define TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"

namespace nvc {

class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Frame `index` with the stream's tags and without a pts, written and ready to be read. It may
  // refer to memory that stays as long as the source. InvalidArgument names the frame when it holds
  // floats far outside [0, 1].
  virtual absl::StatusOr<AvFramePtr> Load(int64_t index) = 0;
  // Whose frames these are where an encoder reads them on a GPU; null for frames in host memory.
  virtual const GpuFramePool* gpu_frames() const { return nullptr; }
};

// The source of a batch as frames of `stream`.
using OpenFrames =
    std::function<absl::StatusOr<std::unique_ptr<FrameSource>>(const StreamSpec& stream)>;

// What Load says of such floats.
absl::Status FloatsOutOfRange(int64_t index);

class FrameLoader : public FrameSource {
 public:
  // The batch's memory must outlive the loader and every frame it gave: frames whose samples are
  // already laid out as the stream wants them are not copied.
  static absl::StatusOr<std::unique_ptr<FrameLoader>> Create(const FrameBatch& frames,
                                                             const StreamSpec& stream);

  absl::StatusOr<AvFramePtr> Load(int64_t index) final;
  // Whether frames are handed on without a copy.
  virtual bool wraps() const { return false; }

 protected:
  FrameLoader(const FrameBatch& frames, const StreamSpec& stream);

  const FrameBatch& frames() const { return frames_; }
  const StreamSpec& stream() const { return stream_; }
  // A frame of the encoder's format with memory of its own, reused once nobody refers to it.
  absl::StatusOr<AvFramePtr> NewFrame();

 private:
  virtual absl::StatusOr<AvFramePtr> Fill(int64_t index) = 0;

  struct PoolDeleter {
    void operator()(AVBufferPool* pool) const { av_buffer_pool_uninit(&pool); }
  };
  FrameBatch frames_;
  StreamSpec stream_;
  std::unique_ptr<AVBufferPool, PoolDeleter> pool_;
};

// The loaders behind Create.
std::unique_ptr<FrameLoader> NewRgbFrameLoader(const FrameBatch& frames, const StreamSpec& stream);
std::unique_ptr<FrameLoader> NewYuvFrameLoader(const FrameBatch& frames, const StreamSpec& stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_
