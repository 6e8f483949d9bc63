#include "tf_nvcodec/core/base/thread_budget.h"

#include <sched.h>

#include <algorithm>
#include <mutex>

#include "tf_nvcodec/core/base/fork_lock.h"

namespace nvc {
namespace {

std::mutex mutex;
int in_use = 0;
// In a forked process, the grants belong to threads that it does not have.
const bool held_in_forks = HoldInForks(&mutex, [] { in_use = 0; });

}  // namespace

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

ThreadGrant::ThreadGrant(int wanted) {
  const int cores = wanted > 0 ? 0 : AvailableCores();
  std::lock_guard<std::mutex> lock(mutex);
  threads_ = wanted > 0 ? wanted : std::max(1, cores - in_use);
  in_use += threads_;
}

std::unique_ptr<ThreadGrant> ThreadGrant::OfAFreeCore() {
  const int cores = AvailableCores();
  std::lock_guard<std::mutex> lock(mutex);
  if (in_use >= cores) return nullptr;
  auto grant = std::unique_ptr<ThreadGrant>(new ThreadGrant);
  ++in_use;
  return grant;
}

void ThreadGrant::GiveBackACore() {
  std::lock_guard<std::mutex> lock(mutex);
  if (threads_ == 1) return;
  --threads_;
  in_use = std::max(0, in_use - 1);
}

ThreadGrant::~ThreadGrant() {
  std::lock_guard<std::mutex> lock(mutex);
  in_use = std::max(0, in_use - threads_);  // a fork may have reset it
}

}  // namespace nvc
