// Counts what a video dataset has done in this process. Readable while the dataset runs.
#ifndef TF_NVCODEC_KERNELS_STREAM_DATASET_STATISTICS_H_
#define TF_NVCODEC_KERNELS_STREAM_DATASET_STATISTICS_H_

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
  // Returns the object that all iterators of the datasets named `name` share. It lives as long as
  // the process, or until thousands of newer names have pushed it out.
  static std::shared_ptr<DatasetStatistics> Of(const std::string& name);

  std::atomic<int64_t> files_opened{0};
  std::atomic<int64_t> files_indexed{0};  // by reading them; other indexes came from a cache
  std::atomic<int64_t> clips{0};          // returned to the consumer
  std::atomic<int64_t> frames{0};  // decoded frames in these clips, without padding and repeats
  std::atomic<int64_t> bytes_read{0};
  std::atomic<int64_t> index_ns{0};   // sum over all threads
  std::atomic<int64_t> decode_ns{0};  // sum over all threads
  std::atomic<int64_t> wait_ns{0};    // time that the consumer waited for a clip
  std::atomic<int64_t> active_ns{0};  // from an iterator's first request to its last answer

  // Counts a clip that the dataset left out. `stage` is "open", "index", "decode", "select" or
  // "short".
  void Skip(absl::string_view stage, const absl::Status& why);

  struct Skipped {
    std::map<std::string, int64_t> by_reason;  // "stage: STATUS_CODE"
    std::deque<std::string> messages;          // the latest 100
  };
  Skipped skipped() const;

 private:
  mutable std::mutex mutex_;
  Skipped skipped_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_STREAM_DATASET_STATISTICS_H_
