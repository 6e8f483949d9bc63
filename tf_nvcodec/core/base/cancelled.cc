#include "tf_nvcodec/core/base/cancelled.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

// A longer time may not fit into the clock's numbers.
constexpr double kLongest = 1e9;

thread_local const Cancelled* current_scope = nullptr;

}  // namespace

Deadline::Deadline(double seconds) {
  if (!(seconds > 0 && seconds < kLongest)) return;
  seconds_ = seconds;
  end_ = Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double Deadline::SecondsLeft(double most) const {
  if (!has_limit()) return most;
  const std::chrono::duration<double> left = end_ - Clock::now();
  return std::min(std::max(left.count(), 0.0), most);
}

absl::Status TimeoutError(double seconds, absl::string_view doing) {
  return absl::DeadlineExceededError(
      absl::StrCat("the time limit of ", seconds, " s was over while ", doing,
                   "; raise timeout if you trust the file, or set max_frames, max_packets and "
                   "max_pixels to refuse such files early"));
}

Cancelled Cancelled::Before(const Deadline& deadline) const {
  Cancelled result = *this;
  result.deadline_ = deadline;
  return result;
}

Cancelled Cancelled::Or(std::function<bool()> by_caller) const {
  Cancelled result = *this;
  if (by_caller_) {
    result.by_caller_ = [first = by_caller_, second = std::move(by_caller)] {
      return first() || second();
    };
  } else {
    result.by_caller_ = std::move(by_caller);
  }
  return result;
}

absl::Status Cancelled::Error(absl::string_view doing) const {
  if (deadline_.IsOver() && !ByCaller()) return TimeoutError(deadline_.seconds(), doing);
  return absl::CancelledError(absl::StrCat("cancelled while ", doing));
}

CancelScope::CancelScope(const Cancelled& cancelled) : outer_(current_scope) {
  current_scope = &cancelled;
}

CancelScope::~CancelScope() { current_scope = outer_; }

const Cancelled& CancelScope::Current() {
  static const auto* const never = new Cancelled;
  return current_scope == nullptr ? *never : *current_scope;
}

}  // namespace nvc
