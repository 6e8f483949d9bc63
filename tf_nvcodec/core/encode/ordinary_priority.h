// Keeps a thread from becoming a real-time one.
#ifndef TF_NVCODEC_CORE_ENCODE_ORDINARY_PRIORITY_H_
#define TF_NVCODEC_CORE_ENCODE_ORDINARY_PRIORITY_H_

#include <linux/capability.h>

namespace nvc {

// While one is alive, this thread, and threads that it starts, can't raise their priority. SVT-AV1
// does so where the user is root: the thread that opens an encoder becomes one of SCHED_FIFO, 99,
// for good (seen with 1.4), with it all threads that it ever starts, and what waits for others in
// a loop then keeps these from running. Without effect where RLIMIT_RTPRIO lets everyone do so.
class OrdinaryPriority {
 public:
  OrdinaryPriority();
  ~OrdinaryPriority();
  OrdinaryPriority(const OrdinaryPriority&) = delete;
  OrdinaryPriority& operator=(const OrdinaryPriority&) = delete;

 private:
  __user_cap_data_struct before_[_LINUX_CAPABILITY_U32S_3] = {};
  bool changed_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ORDINARY_PRIORITY_H_
