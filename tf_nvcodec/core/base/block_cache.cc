#include "tf_nvcodec/core/base/block_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tf_nvcodec/core/base/fork_lock.h"

namespace nvc {
namespace {

// Room for the pictures of four 1080p decoders. Of many decoders side by side, only a few are
// between two clips at any time: with 16 of them, twice as much is no faster.
constexpr size_t kIdleBytes = size_t{128} << 20;
constexpr auto kIdleTime = std::chrono::seconds(10);

// Rounds up by at most an eighth, so that pictures of nearly the same size share blocks.
size_t SizeClass(size_t bytes) {
  size_t step = 4096;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

Block Map(size_t size) {
  void* const data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return {};
  return {static_cast<uint8_t*>(data), size};
}

void Unmap(const Block& block) { munmap(block.data, block.size); }

}  // namespace

BlockCache& BlockCache::Shared() {
  static auto* const cache = new BlockCache(kIdleBytes, kIdleTime);
  static const bool held_in_forks = HoldInForks(&cache->mutex_);
  static_cast<void>(held_in_forks);
  return *cache;
}

namespace {
// Made as soon as the library is loaded. Otherwise a process that forks while another thread makes
// the cache would wait for that thread, which the child does not have.
[[maybe_unused]] const BlockCache& made = BlockCache::Shared();
}  // namespace

BlockCache::~BlockCache() {
  for (const Idle& idle : idle_) Unmap(idle.block);
}

Block BlockCache::Take(size_t bytes) {
  const size_t size = SizeClass(bytes);
  Block block;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // The block given back last is the most likely to be in the processor's caches.
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                    [size](const Idle& idle) { return idle.block.size == size; });
    if (found != idle_.rend()) {
      block = found->block;
      idle_bytes_ -= size;
      idle_.erase(std::next(found).base());
    }
  }
  if (block.data == nullptr) return Map(size);
  // This costs a tenth of fresh pages.
  std::memset(block.data, 0, bytes);
  return block;
}

void BlockCache::Give(const Block& block) {
  if (block.size > max_idle_bytes_) return Unmap(block);
  const Clock::time_point now = Clock::now();
  std::vector<Idle> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back({block, now});
    idle_bytes_ += block.size;
    auto kept = idle_.begin();
    while (kept != idle_.end() &&
           (idle_bytes_ > max_idle_bytes_ || now - kept->since > max_idle_time_)) {
      idle_bytes_ -= kept->block.size;
      ++kept;
    }
    dropped.assign(idle_.begin(), kept);
    idle_.erase(idle_.begin(), kept);
  }
  for (const Idle& idle : dropped) Unmap(idle.block);
}

size_t BlockCache::idle_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return idle_bytes_;
}

}  // namespace nvc
