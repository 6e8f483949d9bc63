// Loads an encoder's frames one after the other from a batch in host memory or GPU memory.
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

  // Returns frame `index`, complete, with the stream's tags and without a pts. It may refer to
  // memory that stays valid as long as the source. Returns InvalidArgument, which names the frame,
  // if it has floats far outside [0, 1].
  virtual absl::StatusOr<AvFramePtr> Load(int64_t index) = 0;
  // Returns the pool of these frames if an encoder reads them in GPU memory, and null for frames in
  // host memory.
  virtual const GpuFramePool* gpu_frames() const { return nullptr; }
};

// Makes the source that turns a batch into frames of `stream`.
using OpenFrames =
    std::function<absl::StatusOr<std::unique_ptr<FrameSource>>(const StreamSpec& stream)>;

// Returns Load's error for floats out of range in frame `index`.
absl::Status FloatsOutOfRange(int64_t index);

// Loads frames from host memory.
class FrameLoader : public FrameSource {
 public:
  // The batch's memory must outlive the loader and all its frames, because frames that already have
  // the stream's layout are not copied.
  static absl::StatusOr<std::unique_ptr<FrameLoader>> Create(const FrameBatch& frames,
                                                             const StreamSpec& stream);

  absl::StatusOr<AvFramePtr> Load(int64_t index) final;

 protected:
  FrameLoader(const FrameBatch& frames, const StreamSpec& stream);

  const FrameBatch& frames() const { return frames_; }
  const StreamSpec& stream() const { return stream_; }
  // Returns a frame of the encoder's format with its own memory, which is reused when nothing
  // refers to it.
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

// The loaders that Create returns.
std::unique_ptr<FrameLoader> NewRgbFrameLoader(const FrameBatch& frames, const StreamSpec& stream);
absl::StatusOr<std::unique_ptr<FrameLoader>> NewYuvFrameLoader(const FrameBatch& frames,
                                                               const StreamSpec& stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_
