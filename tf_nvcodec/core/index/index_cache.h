// Keeps frame indexes: on the local disk, one file for each video, for any number of processes, and
// in the memory of this process.
#ifndef TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_
#define TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Identifies one state of a file. When any of these change, its stored index is stale.
struct FileIdentity {
  std::string path;  // absolute path or URL
  int64_t size = 0;
  int64_t mtime_ns = 0;  // modification time in ns, or a generation number
};

// Keeps indexes on disk. Thread-safe. Store writes a file under another name and then renames it,
// so that readers see a whole index or none.
class IndexCache {
 public:
  // `directory` is a local folder. The first Store makes it, with access for its owner only.
  explicit IndexCache(std::string directory);

  // Returns NotFound, with the reason, when there is no index, when it is damaged or unreadable,
  // when others than the user and root may have written it, or when it was made for another size,
  // time, format or version of FFmpeg. It does not apply FrameIndex::Limits.
  absl::StatusOr<FrameIndex> Load(const FileIdentity& file) const;

  // Returns FailedPrecondition for an index that can't be stored (see SerializeFrameIndex), and
  // Unavailable when the folder can't be written to.
  absl::Status Store(const FileIdentity& file, const FrameIndex& index) const;

  // Returns the name of the file that holds the index of `path`.
  std::string FileName(const std::string& path) const;

 private:
  std::string directory_;
};

// Keeps the indexes that were used last in memory, up to about `capacity_bytes`. Thread-safe.
class IndexMemory {
 public:
  using Build = std::function<absl::StatusOr<FrameIndex>()>;

  explicit IndexMemory(size_t capacity_bytes) : capacity_(capacity_bytes) {}

  // Returns the index under `key`. If there is none, or it is `unwanted`, `build` makes it. Others
  // who call for the same key meanwhile wait for it, and build it themselves if that fails. Returns
  // the error of `cancelled` when it becomes true while waiting.
  absl::StatusOr<std::shared_ptr<const FrameIndex>> Get(const std::string& key, const Build& build,
                                                        const Cancelled& cancelled = nullptr,
                                                        const FrameIndex* unwanted = nullptr);

  // The instance of the whole process.
  static IndexMemory& Shared();

 private:
  struct Entry {
    std::timed_mutex building;
    std::shared_ptr<const FrameIndex> index;  // guarded by `building`
    size_t bytes = 0;                         // guarded by mutex_, as are the rest
    bool listed = false;
    std::list<std::string>::iterator use;
  };

  void Keep(const std::string& key, const std::shared_ptr<Entry>& entry, size_t bytes);

  const size_t capacity_;
  std::mutex mutex_;
  size_t held_ = 0;
  std::list<std::string> latest_first_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_INDEX_CACHE_H_
