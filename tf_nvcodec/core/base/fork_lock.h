// Mutexes that a fork never inherits locked.
#ifndef TF_NVCODEC_CORE_BASE_FORK_LOCK_H_
#define TF_NVCODEC_CORE_BASE_FORK_LOCK_H_

#include <mutex>

namespace nvc {

// From now on a fork holds `mutex` while it copies the process, so that no other thread does, and
// the child runs `in_child` with it held: other threads' traces in what it guards are to go. Both
// must live as long as the process. No thread may take one of these mutexes within another. Returns
// true.
bool HoldInForks(std::mutex* mutex, void (*in_child)() = nullptr);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_FORK_LOCK_H_
