#include "tf_nvcodec/kernels/stream/dataset_statistics.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

constexpr size_t kMostNames = 4096;
constexpr size_t kMostMessages = 100;

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<DatasetStatistics>> by_name;
  std::list<std::string> oldest_first;
};

}  // namespace

std::shared_ptr<DatasetStatistics> DatasetStatistics::Of(const std::string& name) {
  static Registry* const registry = new Registry;
  std::lock_guard<std::mutex> lock(registry->mutex);
  auto& found = registry->by_name[name];
  if (found == nullptr) {
    found = std::make_shared<DatasetStatistics>();
    registry->oldest_first.push_back(name);
  }
  const std::shared_ptr<DatasetStatistics> result = found;
  if (registry->oldest_first.size() > kMostNames) {
    registry->by_name.erase(registry->oldest_first.front());
    registry->oldest_first.pop_front();
  }
  return result;
}

void DatasetStatistics::Skip(absl::string_view stage, const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++skipped_.by_reason[absl::StrCat(stage, ": ", absl::StatusCodeToString(why.code()))];
  skipped_.messages.emplace_back(why.message());
  if (skipped_.messages.size() > kMostMessages) skipped_.messages.pop_front();
}

DatasetStatistics::Skipped DatasetStatistics::skipped() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return skipped_;
}

}  // namespace nvc
