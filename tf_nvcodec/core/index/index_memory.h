// Keeps the process's frame indexes in memory, and drops the least recently used ones first.
#ifndef TF_NVCODEC_CORE_INDEX_INDEX_MEMORY_H_
#define TF_NVCODEC_CORE_INDEX_INDEX_MEMORY_H_

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

class IndexMemory {
 public:
  using Build = std::function<absl::StatusOr<FrameIndex>()>;

  explicit IndexMemory(size_t capacity_bytes) : capacity_(capacity_bytes) {}

  // Returns the index under `key`. If there is none, or it is `unwanted`, `build` makes it. Others
  // who call for the same key meanwhile wait for it, and build it themselves if that fails. Returns
  // Cancelled when `cancelled` becomes true while waiting.
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

#endif  // TF_NVCODEC_CORE_INDEX_INDEX_MEMORY_H_
