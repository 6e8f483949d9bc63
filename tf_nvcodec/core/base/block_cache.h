// Keeps large blocks of memory for a while after their use, because fresh pages are the most
// expensive part of a short decode.
#ifndef TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_
#define TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tf_nvcodec/core/base/pool.h"

namespace nvc {

struct UnmapPages {
  size_t size = 0;
  void operator()(uint8_t* data) const;
};
// A block of whole memory pages. The deleter has its size.
using Block = std::unique_ptr<uint8_t, UnmapPages>;

// Thread-safe.
class BlockCache {
 public:
  // Keeps the latest unused blocks, up to `idle_bytes` together, and none longer than `idle_time`.
  // It checks the time whenever a block comes back.
  BlockCache(size_t idle_bytes, Pool<Block>::Clock::duration idle_time)
      : idle_(idle_bytes, SIZE_MAX, idle_time) {}

  // The cache of the process. It is never destroyed.
  static BlockCache& Shared();

  // Returns a block of at least `bytes`, of which the first `bytes` are zero. It is null when there
  // is no memory.
  Block Take(size_t bytes);
  void Give(Block block);

  size_t idle_bytes() const { return idle_.bytes(); }

 private:
  Pool<Block> idle_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_BLOCK_CACHE_H_
