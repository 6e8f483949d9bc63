// The frame indexes that the process holds in memory, least recently used ones first to go.
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

  // The index under `key`; if there is none, or one `unwanted`, `build` makes it. Others who ask
  // for the same key wait for it, and build it themselves when that failed. Cancelled when that is
  // while waiting.
  absl::StatusOr<std::shared_ptr<const FrameIndex>> Get(const std::string& key, const Build& build,
                                                        const Cancelled& cancelled = nullptr,
                                                        const FrameIndex* unwanted = nullptr);

  // Of the whole process.
  static IndexMemory& Shared();

 private:
  struct Entry {
    std::timed_mutex building;
    std::shared_ptr<const FrameIndex> index;  // guarded by `building`
    size_t bytes = 0;                         // guarded by the memory's mutex, like the rest
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
