#include "tf_nvcodec/core/svt_av1_turn.h"

#include <chrono>
#include <utility>

namespace nvc {

absl::StatusOr<SvtAv1Turn> WaitForSvtAv1Turn(const Cancelled& cancelled) {
  // Never destroyed: encoders may still run while the process ends.
  static std::timed_mutex& mutex = *new std::timed_mutex;
  SvtAv1Turn turn(mutex, std::defer_lock);
  while (!turn.try_lock_for(std::chrono::milliseconds(20))) {
    if (IsCancelled(cancelled)) {
      return absl::CancelledError("cancelled while waiting for another AV1 encoder to finish");
    }
  }
  return turn;
}

}  // namespace nvc
