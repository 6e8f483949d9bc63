// Keeps large blocks of memory for a while after their use, because fresh pages are the most
// expensive part of a short decode.
#ifndef TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_
#define TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nvc {

// A block of whole memory pages.
struct Block {
  uint8_t* data = nullptr;
  size_t size = 0;
};

// Thread-safe.
class BlockCache {
 public:
  using Clock = std::chrono::steady_clock;

  // Keeps the latest unused blocks, up to `idle_bytes` together, and none longer than `idle_time`.
  // It checks the time whenever a block comes back.
  BlockCache(size_t idle_bytes, Clock::duration idle_time)
      : max_idle_bytes_(idle_bytes), max_idle_time_(idle_time) {}
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // The cache of the process. It is never destroyed.
  static BlockCache& Shared();

  // Returns a block of at least `bytes`, of which the first `bytes` are zero. Its data is null when
  // there is no memory.
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
