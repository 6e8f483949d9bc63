// Shares the machine's cores among all decodes of the process: many parallel calls together start
// no more threads than there are cores, and a lone call gets all cores.
#ifndef TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_
#define TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_

#include <memory>

namespace nvc {

// Returns the number of cores this process may run on (its affinity mask), at least 1.
int AvailableCores();

// Holds a share of the cores until it is destroyed. It counts the caller's own thread, so that a
// grant is at least 1 even when all cores are taken.
class ThreadGrant {
 public:
  // `wanted`: the user's own choice of threads, which is granted as it is; 0: all cores that are
  // free.
  explicit ThreadGrant(int wanted);
  ~ThreadGrant();
  // Returns a grant of one core, or null if none is free.
  static std::unique_ptr<ThreadGrant> OfAFreeCore();
  ThreadGrant(const ThreadGrant&) = delete;
  ThreadGrant& operator=(const ThreadGrant&) = delete;

  int threads() const { return threads_; }
  // Gives a core back, unless it is the last one.
  void GiveBackACore();

 private:
  ThreadGrant() = default;

  int threads_ = 1;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_
