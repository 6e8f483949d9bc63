// Tells long work when it has to end: its caller has cancelled it, or its time is over.
#ifndef TF_NVCODEC_CORE_BASE_CANCELLED_H_
#define TF_NVCODEC_CORE_BASE_CANCELLED_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nvc {

// A time limit, which begins when the object is made.
class Deadline {
 public:
  Deadline() = default;  // no limit
  // 0 or less means no limit, and so does a number that no clock reaches.
  explicit Deadline(double seconds);

  bool IsOver() const { return has_limit() && Clock::now() >= end_; }
  bool has_limit() const { return seconds_ > 0; }
  double seconds() const { return seconds_; }
  // Returns the seconds that are left, `most` at most.
  double SecondsLeft(double most) const;

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_ = 0;
  Clock::time_point end_;
};

// Returns DeadlineExceeded. `doing` says what the work was at, e.g. "opening contents".
absl::Status TimeoutError(double seconds, absl::string_view doing);

// Returns true once the work has to end. It is polled between packets and between reads of the
// source, from any thread. Once true, it stays true. Empty means never.
class Cancelled {
 public:
  Cancelled() = default;
  Cancelled(std::nullptr_t) {}
  template <typename F, typename = std::enable_if_t<std::is_invocable_r_v<bool, const F&> &&
                                                    !std::is_same_v<F, Cancelled>>>
  Cancelled(F by_caller) : by_caller_(std::move(by_caller)) {}

  // Returns the same condition with this time limit instead of its own.
  Cancelled Before(const Deadline& deadline) const;
  // Returns the same condition, which `by_caller` can make true as well.
  Cancelled Or(std::function<bool()> by_caller) const;

  bool operator()() const { return ByCaller() || deadline_.IsOver(); }
  // Whether it is true for another reason than the time.
  bool ByCaller() const { return by_caller_ && by_caller_(); }
  // Why the work ends: Cancelled, or DeadlineExceeded if only its time is over.
  absl::Status Error(absl::string_view doing) const;

 private:
  std::function<bool()> by_caller_;
  Deadline deadline_;
};

inline bool IsCancelled(const Cancelled& cancelled) { return cancelled(); }

// While it lives, what this thread waits for can ask whether it is still wanted, although it is
// called through an interface that knows of no cancellation, such as TensorFlow's file systems.
class CancelScope {
 public:
  // `cancelled` must outlive the object.
  explicit CancelScope(const Cancelled& cancelled);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // The condition of this thread's innermost scope; one that is never true outside of any.
  static const Cancelled& Current();

 private:
  const Cancelled* const outer_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_CANCELLED_H_
