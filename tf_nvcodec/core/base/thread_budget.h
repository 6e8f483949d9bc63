// Shares the machine's cores among all decodes of the process, so that many parallel calls don't
// start more threads than there are cores while a lone call gets them all.
#ifndef TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_
#define TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_

namespace nvc {

// Cores this process may run on (its affinity mask), at least 1.
int AvailableCores();

// Holds a share of the cores until destroyed. The caller's own thread is counted: the grant is at
// least 1, also when all cores are taken.
class ThreadGrant {
 public:
  // `wanted` 0: as many as are free. A positive `wanted` is the user's own choice and is granted
  // as it is.
  explicit ThreadGrant(int wanted);
  ~ThreadGrant();
  ThreadGrant(const ThreadGrant&) = delete;
  ThreadGrant& operator=(const ThreadGrant&) = delete;

  int threads() const { return threads_; }

 private:
  int threads_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_THREAD_BUDGET_H_
