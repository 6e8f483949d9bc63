#include "tf_nvcodec/core/base/cancelled.h"

#include <chrono>
#include <limits>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

constexpr double kShort = 0.02, kNever = 1000;

void WaitFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST(CancelledTest, ByDefaultNever) {
  EXPECT_FALSE(IsCancelled(Cancelled()));
  EXPECT_FALSE(IsCancelled(nullptr));
  const double no_limits[] = {0, -1, 1e300, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()};
  for (const double seconds : no_limits) {
    EXPECT_FALSE(Deadline(seconds).has_limit()) << seconds;
    EXPECT_FALSE(IsCancelled(Cancelled().Before(Deadline(seconds)))) << seconds;
    EXPECT_EQ(Deadline(seconds).SecondsLeft(3), 3) << seconds;
  }
}

TEST(CancelledTest, ByTheCaller) {
  bool first = false, second = false;
  const Cancelled one = [&] { return first; };
  const Cancelled both = one.Or([&] { return second; }).Before(Deadline(kNever));
  EXPECT_FALSE(both());
  second = true;
  EXPECT_TRUE(both());
  EXPECT_FALSE(one());
  second = false;
  first = true;
  EXPECT_TRUE(both());
  const absl::Status error = both.Error("opening a file");
  EXPECT_TRUE(absl::IsCancelled(error));
  EXPECT_THAT(error.message(), HasSubstr("while opening a file"));
}

TEST(CancelledTest, ByTime) {
  bool by_caller = false;
  const Cancelled cancelled = Cancelled().Before(Deadline(kShort)).Or([&] { return by_caller; });
  EXPECT_FALSE(cancelled());
  WaitFor(kShort);
  EXPECT_TRUE(cancelled());
  EXPECT_FALSE(cancelled.ByCaller());
  const absl::Status error = cancelled.Error("reading packet 7");
  EXPECT_TRUE(absl::IsDeadlineExceeded(error));
  for (const char* part : {"0.02 s", "while reading packet 7", "raise timeout"}) {
    EXPECT_THAT(error.message(), HasSubstr(part));
  }
  by_caller = true;
  EXPECT_TRUE(absl::IsCancelled(cancelled.Error("")));
}

TEST(CancelledTest, ALaterLimitReplacesTheFirst) {
  const Cancelled first = Cancelled().Before(Deadline(1e-9));
  EXPECT_TRUE(first());
  EXPECT_FALSE(first.Before(Deadline(kNever))());
}

TEST(CancelScopeTest, IsTheInnermostOfItsThread) {
  const Cancelled outer([] { return true; }), inner([] { return false; });
  EXPECT_FALSE(CancelScope::Current()());
  {
    const CancelScope scope(outer);
    EXPECT_TRUE(CancelScope::Current()());
    std::thread([] { EXPECT_FALSE(CancelScope::Current()()); }).join();
    {
      const CancelScope scope(inner);
      EXPECT_EQ(&CancelScope::Current(), &inner);
    }
    EXPECT_EQ(&CancelScope::Current(), &outer);
  }
  EXPECT_FALSE(CancelScope::Current()());
}

TEST(CancelledTest, SecondsLeft) {
  const Deadline deadline(kNever);
  EXPECT_EQ(deadline.SecondsLeft(0.5), 0.5);
  EXPECT_NEAR(deadline.SecondsLeft(2 * kNever), kNever, 60);
  EXPECT_EQ(Deadline(1e-9).SecondsLeft(1), 0);
}

}  // namespace
}  // namespace nvc
