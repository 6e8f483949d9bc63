// Turns the frames of a batch in host memory into what an encoder is handed.
#ifndef TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_
#define TF_NVCODEC_CORE_ENCODE_FRAME_LOADER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/frame_source.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

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
