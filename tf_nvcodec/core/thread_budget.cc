#include "tf_nvcodec/core/thread_budget.h"

#include <sched.h>

#include <algorithm>
#include <mutex>

namespace nvc {
namespace {

std::mutex mutex;
int in_use = 0;

}  // namespace

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

ThreadGrant::ThreadGrant(int wanted) {
  std::lock_guard<std::mutex> lock(mutex);
  threads_ = wanted > 0 ? wanted : std::max(1, AvailableCores() - in_use);
  in_use += threads_;
}

ThreadGrant::~ThreadGrant() {
  std::lock_guard<std::mutex> lock(mutex);
  in_use -= threads_;
}

}  // namespace nvc
