// Protects against faults of SVT-AV1: one encoder at a time, safe presets, ordinary thread
// priority.
#ifndef TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_
#define TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_

#include <linux/capability.h>

#include <utility>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

// The caller of an encoder: one call that ends by itself, or a session that gets frame after frame.
enum class EncoderUse { kOneCall, kSession };

// The right to run SVT-AV1. The library keeps block geometry, lookup tables and the list of cores
// in globals. Opening an encoder rewrites them and closing one frees them, even while other
// encoders run; SVT-AV1 1.4 then crashes or hangs, and versions before 2026 have no guard against
// it. So an encoder holds the lock from before it opens until after it closes, on any thread. One
// encoder alone uses all cores.
class SvtAv1Lock {
 public:
  SvtAv1Lock() = default;
  SvtAv1Lock(SvtAv1Lock&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  SvtAv1Lock& operator=(SvtAv1Lock&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~SvtAv1Lock();

 private:
  friend absl::StatusOr<SvtAv1Lock> WaitForSvtAv1Lock(EncoderUse use, const Cancelled& cancelled);
  bool held_ = false;
};

// Waits until calls on other threads finish. Returns Cancelled if `cancelled` returns true
// meanwhile. Returns FailedPrecondition if a session has the lock, because only its owner can end
// it.
absl::StatusOr<SvtAv1Lock> WaitForSvtAv1Lock(EncoderUse use, const Cancelled& cancelled);

constexpr int kSvtAv1DefaultPreset = -2;  // libavcodec's value for SVT-AV1's default, a fast preset

// Call this with the lock, before opening an encoder. Returns FailedPrecondition for presets 6 and
// 7 if one of 0 to 5 was open in this process before: SVT-AV1 1.4 shares data between them that is
// built for the slower preset, and the encoder never ends. The other order is safe, and so are
// presets from 8 on.
absl::Status CheckSvtAv1Preset(int preset);
void SvtAv1PresetWasOpened(int preset);

// While one of these lives, this thread and the threads that it starts can't raise their priority.
// If the user is root, SVT-AV1 1.4 makes the thread that opens an encoder a SCHED_FIFO thread of
// priority 99, for good, and with it all threads that it starts later. A thread that waits for
// others in a loop then keeps them from running. This has no effect if RLIMIT_RTPRIO lets every
// user raise priorities.
class NoRealTimePriority {
 public:
  NoRealTimePriority();
  ~NoRealTimePriority();
  NoRealTimePriority(const NoRealTimePriority&) = delete;
  NoRealTimePriority& operator=(const NoRealTimePriority&) = delete;

 private:
  __user_cap_data_struct before_[_LINUX_CAPABILITY_U32S_3] = {};
  bool changed_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_
