// Opens videos with their frame indexes, which are kept in memory and on disk.
#ifndef TF_NVCODEC_KERNELS_VIDEO_STORE_H_
#define TF_NVCODEC_KERNELS_VIDEO_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index.h"
#include "tf_nvcodec/kernels/dataset_statistics.h"

namespace nvc {

struct IndexedVideo {
  std::unique_ptr<ByteSource> source;
  std::shared_ptr<const FrameIndex> index;
};

// Thread-safe. A video that two threads ask for at once is indexed by one of them.
class VideoStore {
 public:
  virtual ~VideoStore() = default;

  // On failure `stage` is "open" or "index", whatever could not be done. An index that turned out
  // to be wrong (FrameIndex::only_sample_table) is given as `wrong`, and another one made.
  virtual absl::StatusOr<IndexedVideo> Open(int64_t video, const Cancelled& cancelled,
                                            DatasetStatistics* statistics, const char** stage,
                                            const FrameIndex* wrong = nullptr) = 0;
};

// `names`: string [N], of files. Indexes are shared with every other store of the process, and with
// other processes through `cache_directory` (none if empty); a file that changes is indexed again.
std::unique_ptr<VideoStore> MakeFileStore(::tensorflow::Tensor names, std::string cache_directory,
                                          int64_t max_pixels);

// `contents`: string [N], the bytes of video files.
std::unique_ptr<VideoStore> MakeMemoryStore(::tensorflow::Tensor contents, int64_t max_pixels);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_VIDEO_STORE_H_
