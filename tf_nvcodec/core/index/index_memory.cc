#include "tf_nvcodec/core/index/index_memory.h"

#include <chrono>
#include <utility>

#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

namespace nvc {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);

}  // namespace

IndexMemory& IndexMemory::Shared() {
  static IndexMemory* const memory = new IndexMemory(size_t{512} << 20);
  return *memory;
}

absl::StatusOr<std::shared_ptr<const FrameIndex>> IndexMemory::Get(const std::string& key,
                                                                   const Build& build,
                                                                   const Cancelled& cancelled,
                                                                   const FrameIndex* unwanted) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& found = entries_[key];
    if (found == nullptr) found = std::make_shared<Entry>();
    entry = found;
    if (entry->listed) latest_first_.splice(latest_first_.begin(), latest_first_, entry->use);
  }
  std::unique_lock<std::timed_mutex> building(entry->building, std::defer_lock);
  while (!building.try_lock_for(kBetweenLooks)) {
    if (IsCancelled(cancelled)) return absl::CancelledError("others are making the frame index");
  }
  if (entry->index != nullptr && entry->index.get() != unwanted) return entry->index;
  auto built = build();
  if (!built.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    // One that should have been replaced stays: others may do with it.
    const bool is_new = found != entries_.end() && found->second == entry && !entry->listed;
    if (is_new) entries_.erase(found);
    return std::move(built).status();
  }
  entry->index = std::make_shared<const FrameIndex>(*std::move(built));
  Keep(key, entry, MemoryBytes(*entry->index) + sizeof(Entry) + 2 * key.size());
  return entry->index;
}

void IndexMemory::Keep(const std::string& key, const std::shared_ptr<Entry>& entry, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& found = entries_[key];
  if (found != entry) {
    // The failure of somebody who waited before took it out; whoever came since has another.
    if (found != nullptr) return;
    found = entry;
  }
  if (entry->listed) {  // and is replaced
    latest_first_.erase(entry->use);
    held_ -= entry->bytes;
  }
  latest_first_.push_front(key);
  entry->use = latest_first_.begin();
  entry->listed = true;
  entry->bytes = bytes;
  held_ += bytes;
  // The newest stays, however large: dropping it would index it again for every clip.
  while (held_ > capacity_ && latest_first_.size() > 1) {
    const auto oldest = entries_.find(latest_first_.back());
    held_ -= oldest->second->bytes;
    oldest->second->listed = false;  // whoever makes it anew may hold it
    entries_.erase(oldest);
    latest_first_.pop_back();
  }
}

}  // namespace nvc
