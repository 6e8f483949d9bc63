#include "tf_nvcodec/core/encode/svt_av1_guard.h"

#include <sched.h>
#include <sys/resource.h>

#include <thread>

#include "gtest/gtest.h"

namespace nvc {
namespace {

bool MayBeRealTime() {
  sched_param param = {};
  param.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_FIFO, &param) != 0) return false;
  param.sched_priority = 0;
  EXPECT_EQ(sched_setscheduler(0, SCHED_OTHER, &param), 0);
  return true;
}

TEST(OrdinaryPriorityTest, ThisThreadAndItsThreadsCanNotBecomeRealTime) {
  rlimit allowed = {};
  ASSERT_EQ(getrlimit(RLIMIT_RTPRIO, &allowed), 0);
  if (allowed.rlim_cur > 0) GTEST_SKIP() << "everyone here may be real-time";
  const bool before = MayBeRealTime();
  {
    const NoRealTimePriority ordinary;
    EXPECT_FALSE(MayBeRealTime());
    std::thread([] { EXPECT_FALSE(MayBeRealTime()); }).join();
    { const NoRealTimePriority again; }
    EXPECT_FALSE(MayBeRealTime());
  }
  EXPECT_EQ(MayBeRealTime(), before);
  if (!before) GTEST_SKIP() << "nothing here may be real-time anyhow";
}

}  // namespace
}  // namespace nvc
