// Frame indexes on the local disk, one file a video, shared by any number of processes.
#ifndef TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_
#define TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// What makes an index stale when it changes.
struct FileIdentity {
  std::string path;  // as it is to be found again: absolute, or a URL
  int64_t size = 0;
  int64_t mtime_ns = 0;  // or a generation number
};

// Thread-safe. A file is written under another name and then renamed: readers see a whole index or
// none.
class IndexCache {
 public:
  // A local folder; made, for its owner alone, by the first Store.
  explicit IndexCache(std::string directory);

  // NotFound, with the reason, when there is none, when it is of another size, time, format or
  // version of FFmpeg, when it is damaged or can't be read. FrameIndex::Limits are not applied.
  absl::StatusOr<FrameIndex> Load(const FileIdentity& file) const;

  // FailedPrecondition for an index that can't be stored (see SerializeFrameIndex), else the
  // folder's trouble: PermissionDenied, ResourceExhausted (full) or Unavailable.
  absl::Status Store(const FileIdentity& file, const FrameIndex& index) const;

  // Where the index of `path` is kept.
  std::string FileName(const std::string& path) const;

 private:
  std::string directory_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_
