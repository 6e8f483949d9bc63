// Large blocks of memory that stay with the process for a while after their use: their pages are
// the dearer part of a short decode.
#ifndef TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_
#define TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nvc {

// Whole pages.
struct Block {
  uint8_t* data = nullptr;
  size_t size = 0;
};

// Thread-safe.
class BlockCache {
 public:
  using Clock = std::chrono::steady_clock;

  // Keeps at most `idle_bytes` that nobody uses, the latest ones, and none longer than `idle_time`,
  // which is checked whenever a block comes back.
  BlockCache(size_t idle_bytes, Clock::duration idle_time)
      : max_idle_bytes_(idle_bytes), max_idle_time_(idle_time) {}
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // That of the process; it is never destroyed.
  static BlockCache& Shared();

  // Of at least `bytes`, the first `bytes` of them zero. No data when out of memory.
  Block Take(size_t bytes);
  void Give(const Block& block);

  size_t idle_bytes() const;

 private:
  struct Idle {
    Block block;
    Clock::time_point since;
  };

  const size_t max_idle_bytes_;
  const Clock::duration max_idle_time_;
  mutable std::mutex mutex_;
  std::vector<Idle> idle_;  // the longest idle first
  size_t idle_bytes_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_
