// Reads one video from front to back, in chunks of frames, some of them ahead of the consumer.
#ifndef TF_NVCODEC_KERNELS_VIDEO_ITERATOR_H_
#define TF_NVCODEC_KERNELS_VIDEO_ITERATOR_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/decode/window_pass.h"
#include "tf_nvcodec/kernels/decode_setup.h"
#include "tf_nvcodec/kernels/frame_allocator.h"
#include "tf_nvcodec/kernels/gpu_stream.h"
#include "tf_nvcodec/kernels/video_store.h"

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
  // What a frame of the output has, and at least 1.
  int64_t FrameBytes() const;
  // Sets video_, chunk_, windows_ and total_. Only the thread of the pass calls it, once there is
  // one.
  absl::Status OpenVideo(const FrameIndex* wrong, const Cancelled& cancelled);
  void Run();
  absl::Status RunFrom(size_t first, bool alone, size_t* finished);
  void Put(size_t chunk, const WindowPass::Result& result, ::tensorflow::Tensor frames);
  absl::Status Named(const absl::Status& status) const;
  void StopLocked();  // the caller holds mutex_

  const Arguments arguments_;
  size_t ahead_ = 1;  // chunks that are decoded ahead of the consumer
  DatasetStatistics statistics_;
  std::unique_ptr<VideoStore> store_;
  IndexedVideo video_;
  int64_t chunk_;                // the frames of a chunk
  std::vector<Window> windows_;  // the frames of each chunk
  std::atomic<int64_t> total_{0};
  std::shared_ptr<FrameAllocator> memory_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopped_{false};
  size_t next_ = 0;   // the chunk that the next call of Next gets
  size_t first_ = 0;  // of the pass
  WindowPass* pass_ = nullptr;
  std::map<size_t, absl::StatusOr<Chunk>> ready_;
  std::optional<absl::Status>
      end_;  // of the pass: no chunks come any more but those that are ready
  std::thread thread_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_VIDEO_ITERATOR_H_
