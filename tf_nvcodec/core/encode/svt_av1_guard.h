// One SVT-AV1 encoder at a time.
#ifndef TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_
#define TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_

#include <linux/capability.h>

#include <utility>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

// Who encodes: one call that ends by itself, or a caller that comes back frame after frame.
enum class EncoderUse { kOneCall, kSession };

// SVT-AV1 keeps block geometry, lookup tables and the list of cores in globals that opening an
// encoder rewrites and closing one frees, under the encoders that run (seen with 1.4: crashes and
// hangs; its own guard came in 2026). So an encoder holds this from before it opens until after it
// closes, on whichever thread. It spreads over the cores by itself.
class SvtAv1Turn {
 public:
  SvtAv1Turn() = default;
  SvtAv1Turn(SvtAv1Turn&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  SvtAv1Turn& operator=(SvtAv1Turn&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~SvtAv1Turn();

 private:
  friend absl::StatusOr<SvtAv1Turn> WaitForSvtAv1Turn(EncoderUse use, const Cancelled& cancelled);
  bool held_ = false;
};

// Waits for the calls of other threads. Cancelled if `cancelled` says so meanwhile;
// FailedPrecondition while a session has the turn, which only its owner can end.
absl::StatusOr<SvtAv1Turn> WaitForSvtAv1Turn(EncoderUse use, const Cancelled& cancelled);

constexpr int kSvtAv1DefaultPreset = -2;  // libavcodec's name of it; a fast one

// To be asked by who has the turn, before it opens an encoder. FailedPrecondition for presets 6 and
// 7 once one of 0 to 5 was open in this process: what such an encoder of SVT-AV1 1.4 shares with
// them is built for the slower ones, and it never ends. (Seen with 0 to 5 before 6 and 7; not the
// other way round, and not with 8 and above.)
absl::Status CheckSvtAv1Preset(int preset);
void SvtAv1PresetWasOpened(int preset);

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

#endif  // TF_NVCODEC_CORE_ENCODE_SVT_AV1_GUARD_H_
