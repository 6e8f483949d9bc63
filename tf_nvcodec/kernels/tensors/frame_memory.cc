#include "tf_nvcodec/kernels/tensors/frame_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <mutex>

namespace nvc {
namespace {

// Blocks from this size on begin at a huge page, so that all of their pages can be huge.
constexpr size_t kLarge = size_t{4} << 20, kHugePage = size_t{2} << 20;

struct Waiting {
  std::mutex mutex;
  std::deque<FrameBlock> blocks;  // the longest waiting first
  size_t bytes = 0;               // of all blocks
};

// It is never destroyed: tensors may live until the process ends.
Waiting& TheWaiting() {
  static auto* const waiting = new Waiting;
  return *waiting;
}

size_t MostBytes() {
  static const size_t most = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t memory = pages > 0 && page > 0 ? static_cast<size_t>(pages) * page : 0;
    return std::min(size_t{2} << 30, memory / 8);
  }();
  return most;
}

FrameBlock TakeWaiting(size_t bytes) {
  Waiting& waiting = TheWaiting();
  std::lock_guard<std::mutex> lock(waiting.mutex);
  const auto found = std::find_if(waiting.blocks.rbegin(), waiting.blocks.rend(),
                                  [&](const FrameBlock& block) { return Serves(block, bytes); });
  if (found == waiting.blocks.rend()) return {};
  const FrameBlock block = *found;
  waiting.blocks.erase(std::next(found).base());
  waiting.bytes -= block.bytes;
  return block;
}

}  // namespace

bool Serves(const FrameBlock& block, size_t bytes) {
  return block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
}

FrameBlock TakeFrameBlock(size_t alignment, size_t bytes) {
  const bool large = bytes >= kLarge;
  if (large && alignment <= kHugePage) {
    const FrameBlock block = TakeWaiting(bytes);
    if (block.memory != nullptr) return block;
  }
  const size_t least = large ? kHugePage : sizeof(void*);
  FrameBlock block{nullptr, std::max<size_t>(bytes, 1)};
  if (posix_memalign(&block.memory, std::max(alignment, least), block.bytes) != 0) return {};
  // Some systems give huge pages only where they are asked for. A refusal does no harm.
  if (large) madvise(block.memory, block.bytes & ~(kHugePage - 1), MADV_HUGEPAGE);
  return block;
}

void GiveFrameBlock(const FrameBlock& block) {
  if (block.bytes < kLarge || block.bytes > MostBytes() ||
      // The rest of the last page may be malloc's.
      madvise(block.memory, block.bytes & ~(kHugePage - 1), MADV_FREE) != 0) {
    std::free(block.memory);
    return;
  }
  std::deque<FrameBlock> old;
  Waiting& waiting = TheWaiting();
  {
    std::lock_guard<std::mutex> lock(waiting.mutex);
    waiting.blocks.push_back(block);
    waiting.bytes += block.bytes;
    while (waiting.bytes > MostBytes()) {
      waiting.bytes -= waiting.blocks.front().bytes;
      old.push_back(waiting.blocks.front());
      waiting.blocks.pop_front();
    }
  }
  for (const FrameBlock& each : old) std::free(each.memory);
}

}  // namespace nvc
