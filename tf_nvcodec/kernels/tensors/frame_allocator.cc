#include "tf_nvcodec/kernels/tensors/frame_allocator.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace nvc {
namespace {

// A steady loop has one idle block at most; some more allow for clips of several sizes.
constexpr size_t kMostIdle = 4;
// How long a block may take to come back where the last one did not.
constexpr auto kShortWait = std::chrono::milliseconds(2);

}  // namespace

std::shared_ptr<FrameAllocator> FrameAllocator::Create(size_t patient_from) {
  return std::shared_ptr<FrameAllocator>(new FrameAllocator(patient_from));
}

FrameAllocator::~FrameAllocator() {
  for (const FrameBlock& block : idle_) GiveFrameBlock(block);
}

// The caller holds mutex_.
void* FrameAllocator::TakeIdle(size_t bytes) {
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [bytes](const FrameBlock& block) {
    return Serves(block, bytes);
  });
  if (found == idle_.rend()) return nullptr;
  void* const memory = found->memory;
  in_use_[memory] = found->bytes;
  idle_.erase(std::next(found).base());
  return memory;
}

void* FrameAllocator::AllocateRaw(size_t alignment, size_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  void* memory = TakeIdle(bytes);
  if (memory == nullptr && patient_from_ > 0 && in_use_.size() >= patient_from_) {
    // Another thread's wait in vain does not prolong this one.
    const bool patient = !kept_;
    const auto may_go_on = [&] { return !idle_.empty() || (awaited_ && patient) || closed_; };
    if (patient) {
      changed_.wait(lock, may_go_on);
    } else {
      changed_.wait_for(lock, kShortWait, may_go_on);
    }
    memory = TakeIdle(bytes);
    kept_ = memory == nullptr;
  }
  if (memory == nullptr) {
    const FrameBlock block = TakeFrameBlock(alignment, bytes);
    if (block.memory == nullptr) return nullptr;
    memory = block.memory;
    in_use_[memory] = block.bytes;
  }
  if (self_ == nullptr) self_ = shared_from_this();
  return memory;
}

void FrameAllocator::DeallocateRaw(void* memory) {
  std::shared_ptr<FrameAllocator> last;  // destroyed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_use_.find(memory);
  if (found == in_use_.end()) return;
  idle_.push_back({memory, found->second});
  in_use_.erase(found);
  const size_t kept = closed_ ? 0 : kMostIdle;
  while (idle_.size() > kept) {
    GiveFrameBlock(idle_.front());
    idle_.erase(idle_.begin());
  }
  changed_.notify_all();
  if (in_use_.empty()) last = std::move(self_);
}

void FrameAllocator::SetAwaited(bool awaited) {
  std::lock_guard<std::mutex> lock(mutex_);
  awaited_ = awaited;
  changed_.notify_all();
}

void FrameAllocator::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  for (const FrameBlock& block : idle_) GiveFrameBlock(block);
  idle_.clear();
}

}  // namespace nvc
