// Reads one video from front to back, in chunks of frames, some of them ahead of the consumer.
#ifndef TF_NVCODEC_KERNELS_STREAM_VIDEO_ITERATOR_H_
#define TF_NVCODEC_KERNELS_STREAM_VIDEO_ITERATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/kernels/decode/decode_setup.h"
#include "tf_nvcodec/kernels/stream/clip_stream.h"
#include "tf_nvcodec/kernels/stream/video_store.h"
#include "tf_nvcodec/kernels/tensors/frame_allocator.h"
#include "tf_nvcodec/kernels/tensors/gpu_stream.h"

namespace nvc {

class VideoIterator {
 public:
  struct Arguments {
    DecodeAttributes decode;     // its output includes size and crop
    ::tensorflow::Tensor video;  // string [1]
    bool is_file = true;
    std::string cache_directory;
    int64_t start = 0, stop = 0, stride = 1;
    int64_t chunk = 0;  // frames; 0: as many as the iterator chooses
    // The GPU that the frames go to, and its allocator; null: host memory.
    std::optional<GpuStream> gpu;
    ::tensorflow::Allocator* gpu_allocator = nullptr;
  };
  struct Chunk {
    ::tensorflow::Tensor frames;  // [0] behind the last chunk
    std::vector<double> pts;
    std::vector<bool> valid;
  };

  // Opens and indexes the video, and begins to decode. Errors name the file. decode.timeout limits
  // each Next; `cancelled` has the limit of this call.
  static absl::StatusOr<std::unique_ptr<VideoIterator>> Open(Arguments arguments,
                                                             const Cancelled& cancelled);
  ~VideoIterator();

  // The number of frames of all chunks.
  int64_t total() const { return total_; }
  ::tensorflow::DataType dtype() const { return arguments_.decode.dtype; }
  bool on_gpu() const { return arguments_.gpu.has_value(); }

  // Waits for the next chunk. An error is the last answer. Thread-safe; threads get different
  // chunks.
  absl::StatusOr<Chunk> Next(const Cancelled& cancelled);
  // Ends a Next that waits, and every later one, with Cancelled.
  void Stop();

 private:
  explicit VideoIterator(Arguments arguments);
  absl::StatusOr<IndexedVideo> OpenVideo(const Cancelled& cancelled, const char** stage,
                                         const FrameIndex* wrong);
  ClipSource::Room Room(const FrameIndex& index);
  absl::StatusOr<std::optional<Clip>> ChunkAt(size_t place) const;
  absl::Status Named(const absl::Status& status) const;

  const Arguments arguments_;
  DatasetStatistics statistics_;
  std::unique_ptr<VideoStore> store_;
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> total_{-1};  // -1: the video was not opened

  std::mutex mutex_;             // held while a chunk is read
  size_t next_ = 0;              // the chunk that the next call of Next gets
  int64_t chunk_;                // the frames of a chunk
  std::vector<int64_t> frames_;  // of all chunks
  std::shared_ptr<FrameAllocator> memory_;
  std::unique_ptr<ClipStream> chunks_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_STREAM_VIDEO_ITERATOR_H_
