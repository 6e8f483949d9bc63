#include "tf_nvcodec/core/encode/svt_av1_guard.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/fork_lock.h"

namespace nvc {
namespace {

struct Holder {
  std::mutex mutex;
  std::condition_variable freed;
  bool taken = false;
  bool by_session = false;
  bool slow_was_open = false;
  bool inherited = false;  // by a fork; the encoder runs in the parent
};

constexpr int kSlowestToHang = 6, kFastestToHang = 7;

Holder& TheHolder() {
  // Never destroyed, because encoders may still run while the process ends.
  static Holder& holder = *new Holder;
  return holder;
}

void NoteInheritance() { TheHolder().inherited = TheHolder().inherited || TheHolder().taken; }
const bool held_in_forks = HoldInForks(&TheHolder().mutex, NoteInheritance);

}  // namespace

SvtAv1Lock::~SvtAv1Lock() {
  if (!held_) return;
  Holder& holder = TheHolder();
  {
    const std::lock_guard<std::mutex> lock(holder.mutex);
    holder.taken = false;
  }
  holder.freed.notify_one();
}

absl::StatusOr<SvtAv1Lock> WaitForSvtAv1Lock(EncoderUse use, const Cancelled& cancelled) {
  Holder& holder = TheHolder();
  std::unique_lock<std::mutex> lock(holder.mutex);
  while (holder.taken) {
    if (holder.inherited) {
      return absl::FailedPreconditionError(
          "this process was forked while an AV1 encoder was open, so SVT-AV1 has that encoder's "
          "state but not its threads: start processes before encoding AV1, or with "
          "multiprocessing's \"spawn\"");
    }
    if (holder.by_session) {
      return absl::FailedPreconditionError(
          "another AV1 encoder is open, and SVT-AV1 runs one at a time in a process: end it "
          "(EndEncode()) or delete it first, or encode in a process of its own");
    }
    if (IsCancelled(cancelled)) {
      return absl::CancelledError("cancelled while waiting for another AV1 encoder to finish");
    }
    holder.freed.wait_for(lock, std::chrono::milliseconds(20));
  }
  holder.taken = true;
  holder.by_session = use == EncoderUse::kSession;
  SvtAv1Lock taken;
  taken.held_ = true;
  return taken;
}

absl::Status CheckSvtAv1Preset(int preset) {
  Holder& holder = TheHolder();
  const std::lock_guard<std::mutex> lock(holder.mutex);
  if (!holder.slow_was_open || preset < kSlowestToHang || preset > kFastestToHang) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("preset ", preset,
                   " of SVT-AV1 would hang, since this process has used a slower one: take a "
                   "preset of at most 5 or at least 8, or encode in a process of its own"));
}

void SvtAv1PresetWasOpened(int preset) {
  Holder& holder = TheHolder();
  const std::lock_guard<std::mutex> lock(holder.mutex);
  const bool slow = preset > kSvtAv1DefaultPreset && preset < kSlowestToHang;
  holder.slow_was_open = holder.slow_was_open || slow;
}

namespace {

// glibc has no functions for these calls. Both concern this thread alone.
bool GetCapabilities(__user_cap_data_struct* data) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capget, &header, data) == 0;
}

bool SetCapabilities(const __user_cap_data_struct* data) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  return syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

NoRealTimePriority::NoRealTimePriority() {
  if (!GetCapabilities(before_)) return;
  __user_cap_data_struct without[_LINUX_CAPABILITY_U32S_3];
  std::copy(std::begin(before_), std::end(before_), without);
  auto& word = without[CAP_TO_INDEX(CAP_SYS_NICE)].effective;
  if ((word & CAP_TO_MASK(CAP_SYS_NICE)) == 0) return;
  word &= ~CAP_TO_MASK(CAP_SYS_NICE);
  changed_ = SetCapabilities(without);
}

NoRealTimePriority::~NoRealTimePriority() {
  if (changed_) SetCapabilities(before_);
}

}  // namespace nvc
