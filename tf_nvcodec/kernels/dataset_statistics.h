// What a video dataset did so far in this process, readable while it runs.
#ifndef TF_NVCODEC_KERNELS_DATASET_STATISTICS_H_
#define TF_NVCODEC_KERNELS_DATASET_STATISTICS_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nvc {

class DatasetStatistics {
 public:
  // All iterators of the datasets with this name share one object; it lives as long as the process,
  // or until very many others have been made.
  static std::shared_ptr<DatasetStatistics> Of(const std::string& name);

  std::atomic<int64_t> files_opened{0};
  std::atomic<int64_t> files_indexed{0};  // by reading them; the others came from a cache
  std::atomic<int64_t> clips{0};          // returned
  std::atomic<int64_t> frames{0};         // of these, decoded: neither padding nor repeated
  std::atomic<int64_t> bytes_read{0};
  std::atomic<int64_t> index_ns{0};   // of all threads together
  std::atomic<int64_t> decode_ns{0};  // of all threads together
  std::atomic<int64_t> wait_ns{0};    // the consumer waited for a clip
  std::atomic<int64_t> active_ns{0};  // from an iterator's first request to its last answer

  // A clip that was left out. `stage`: "open", "index", "decode" or "short".
  void Skip(absl::string_view stage, const absl::Status& why);

  struct Skipped {
    std::map<std::string, int64_t> by_reason;  // "stage: STATUS_CODE"
    std::deque<std::string> messages;          // the latest ones
  };
  Skipped skipped() const;

 private:
  mutable std::mutex mutex_;
  Skipped skipped_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_STATISTICS_H_
