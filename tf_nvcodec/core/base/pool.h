// Keeps objects that are costly to make for their next users.
#ifndef TF_NVCODEC_CORE_BASE_POOL_H_
#define TF_NVCODEC_CORE_BASE_POOL_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "tf_nvcodec/core/base/fork_lock.h"

namespace nvc {

// Thread-safe. The oldest objects leave first.
template <typename T>
class Pool {
 public:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    T object;
    size_t bytes;
    Clock::time_point since;
  };
  using Entries = std::list<Entry>;

  // Limits what the objects take together, their number and their age. Give looks at the age.
  explicit Pool(size_t most_bytes, size_t most_objects = SIZE_MAX,
                Clock::duration most_age = Clock::duration::max())
      : most_bytes_(most_bytes), most_objects_(most_objects), most_age_(most_age) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Takes out the latest object for which fits(object) is true.
  template <typename Fits>
  std::optional<T> Take(Fits fits) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Latest(fits);
    if (found == entries_.end()) return std::nullopt;
    std::optional<T> object(std::move(found->object));
    bytes_ -= found->bytes;
    entries_.erase(found);
    return object;
  }

  // Copies that object, for objects that users share, and makes it the latest.
  template <typename Fits>
  std::optional<T> Share(Fits fits) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Latest(fits);
    if (found == entries_.end()) return std::nullopt;
    found->since = Clock::now();
    entries_.splice(entries_.end(), entries_, found);
    return found->object;
  }

  // Keeps the object. Returns those that leave for it, so that they are destroyed without the lock.
  // An object that is larger than the limit leaves itself.
  Entries Give(T object, size_t bytes = 0) {
    Entries left;
    const Clock::time_point now = Clock::now();
    left.push_back({std::move(object), bytes, now});
    if (bytes > most_bytes_) return left;
    std::lock_guard<std::mutex> lock(mutex_);
    entries_.splice(entries_.end(), left);
    bytes_ += bytes;
    while (!entries_.empty() && (bytes_ > most_bytes_ || entries_.size() > most_objects_ ||
                                 now - entries_.front().since > most_age_)) {
      bytes_ -= entries_.front().bytes;
      left.splice(left.end(), entries_, entries_.begin());
    }
    return left;
  }

  // Takes out all objects.
  Entries Clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_ = 0;
    return std::exchange(entries_, {});
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }
  size_t bytes() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return bytes_;
  }

  // For a pool that lives as long as the process: a forked process finds it unlocked. With `leak`
  // it finds it empty and leaks the objects, whose threads it does not have. Returns true.
  bool HoldInForks(bool leak) {
    return nvc::HoldInForks(&mutex_, [this, leak] {
      if (!leak) return;
      new (&entries_) Entries;
      bytes_ = 0;
    });
  }

 private:
  // The caller holds mutex_.
  template <typename Fits>
  typename Entries::iterator Latest(Fits fits) {
    const auto found = std::find_if(entries_.rbegin(), entries_.rend(),
                                    [&](const Entry& entry) { return fits(entry.object); });
    return found == entries_.rend() ? entries_.end() : std::next(found).base();
  }

  const size_t most_bytes_, most_objects_;
  const Clock::duration most_age_;
  mutable std::mutex mutex_;
  Entries entries_;  // the oldest first
  size_t bytes_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_POOL_H_
