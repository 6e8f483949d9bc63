// Opens videos together with their frame indexes, and keeps the indexes in memory and on disk.
#ifndef TF_NVCODEC_KERNELS_STREAM_VIDEO_STORE_H_
#define TF_NVCODEC_KERNELS_STREAM_VIDEO_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/stream/dataset_statistics.h"

namespace nvc {

struct IndexedVideo {
  std::unique_ptr<ByteSource> source;
  std::shared_ptr<const FrameIndex> index;
};

// Thread-safe. If two threads open the same video at once, one of them indexes it.
class VideoStore {
 public:
  virtual ~VideoStore() = default;

  // Opens video number `video`. On failure, `stage` is "open" or "index" and names the step that
  // failed. A caller that finds an index wrong (FrameIndex::only_sample_table) passes it as
  // `wrong`, and Open makes a new one.
  virtual absl::StatusOr<IndexedVideo> Open(int64_t video, const Cancelled& cancelled,
                                            DatasetStatistics* statistics, const char** stage,
                                            const FrameIndex* wrong = nullptr) = 0;
};

// `names` is a string [N] of file names. All stores of the process share their indexes. Other
// processes share them through `cache_directory`, if it is not empty. A file that has changed is
// indexed again.
std::unique_ptr<VideoStore> MakeFileStore(::tensorflow::Tensor names, std::string cache_directory,
                                          const FrameIndex::Limits& limits);

// `contents` is a string [N] with the bytes of video files.
std::unique_ptr<VideoStore> MakeMemoryStore(::tensorflow::Tensor contents,
                                            const FrameIndex::Limits& limits);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_STREAM_VIDEO_STORE_H_
