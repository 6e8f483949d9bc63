// Keeps a forked process from inheriting mutexes that other threads had locked.
#ifndef TF_NVCODEC_CORE_BASE_FORK_LOCK_H_
#define TF_NVCODEC_CORE_BASE_FORK_LOCK_H_

#include <functional>
#include <mutex>

namespace nvc {

// From now on, a fork locks `mutex` while it copies the process, so that no other thread holds it
// then. The child calls `in_child` before it unlocks the mutex, to remove what belonged to other
// threads from the data that the mutex guards. Both arguments must be valid as long as the process.
// No thread may lock one of these mutexes while it holds another. Returns true.
bool HoldInForks(std::mutex* mutex, std::function<void()> in_child = nullptr);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_FORK_LOCK_H_
