#include "tf_nvcodec/kernels/tensors/frame_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "tf_nvcodec/core/base/pool.h"

namespace nvc {
namespace {

// Blocks from this size on begin at a huge page, so that all of their pages can be huge.
constexpr size_t kLarge = size_t{4} << 20, kHugePage = size_t{2} << 20;

struct FreeMemory {
  size_t bytes;
  void operator()(void* memory) const { std::free(memory); }
};
using Waiting = std::unique_ptr<void, FreeMemory>;

size_t MostBytes() {
  static const size_t most = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t memory = pages > 0 && page > 0 ? static_cast<size_t>(pages) * page : 0;
    return std::min(size_t{2} << 30, memory / 8);
  }();
  return most;
}

// It is never destroyed: tensors may live until the process ends.
Pool<Waiting>& WaitingBlocks() {
  static auto* const waiting = new Pool<Waiting>(MostBytes());
  return *waiting;
}

}  // namespace

bool Serves(const FrameBlock& block, size_t bytes) {
  return block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
}

FrameBlock TakeFrameBlock(size_t alignment, size_t bytes) {
  const bool large = bytes >= kLarge;
  if (large && alignment <= kHugePage) {
    std::optional<Waiting> waiting = WaitingBlocks().Take([bytes](const Waiting& each) {
      return Serves({each.get(), each.get_deleter().bytes}, bytes);
    });
    if (waiting.has_value()) {
      const size_t held = waiting->get_deleter().bytes;
      return {waiting->release(), held};
    }
  }
  const size_t least = large ? kHugePage : sizeof(void*);
  FrameBlock block{nullptr, std::max<size_t>(bytes, 1)};
  if (posix_memalign(&block.memory, std::max(alignment, least), block.bytes) != 0) return {};
  // Some systems give huge pages only where they are asked for. A refusal does no harm.
  if (large) madvise(block.memory, block.bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
  return block;
}

void GiveFrameBlock(const FrameBlock& block) {
  Waiting waiting(block.memory, FreeMemory{block.bytes});
  if (block.bytes < kLarge ||
      // The rest of the last page may be malloc's.
      madvise(block.memory, block.bytes & ~(kHugePage - 1), MADV_FREE) != 0) {
    return;
  }
  WaitingBlocks().Give(std::move(waiting), block.bytes);
}

}  // namespace nvc
