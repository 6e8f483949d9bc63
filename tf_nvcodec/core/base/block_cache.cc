#include "tf_nvcodec/core/base/block_cache.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

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

}  // namespace

void UnmapPages::operator()(uint8_t* data) const { munmap(data, size); }

BlockCache& BlockCache::Shared() {
  static auto* const cache = new BlockCache(kIdleBytes, kIdleTime);
  static const bool held_in_forks = cache->idle_.HoldInForks(/*leak=*/false);
  static_cast<void>(held_in_forks);
  return *cache;
}

namespace {
// Made as soon as the library is loaded. Otherwise a process that forks while another thread makes
// the cache would wait for that thread, which the child does not have.
[[maybe_unused]] const BlockCache& made = BlockCache::Shared();
}  // namespace

Block BlockCache::Take(size_t bytes) {
  const size_t size = SizeClass(bytes);
  // The block given back last is the most likely to be in the processor's caches.
  std::optional<Block> idle =
      idle_.Take([size](const Block& block) { return block.get_deleter().size == size; });
  if (idle.has_value()) {
    std::memset(idle->get(), 0, bytes);  // this costs a tenth of fresh pages
    return *std::move(idle);
  }
  void* const data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return Block(data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data), UnmapPages{size});
}

void BlockCache::Give(Block block) {
  const size_t size = block.get_deleter().size;
  idle_.Give(std::move(block), size);
}

}  // namespace nvc
