#include "tf_nvcodec/core/base/fork_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/base/block_cache.h"
#include "tf_nvcodec/core/base/thread_budget.h"

namespace nvc {
namespace {

// Forks, does `work` in the child, and returns how the child ended: 0 if it finished, 14 (SIGALRM)
// if it hung until its alarm ended it.
int InFork(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    work();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// Forks many times while other threads run `others` all the time. Each child runs `others` too, and
// must not hang.
void ForkBeside(const std::function<void()>& others) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) others();
    });
  }
  for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) EXPECT_EQ(InFork(others), 0);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkLockTest, AMutexIsFreeInEveryFork) {
  static std::mutex mutex;
  static const bool held = HoldInForks(&mutex);
  EXPECT_TRUE(held);
  ForkBeside([] { const std::lock_guard<std::mutex> lock(mutex); });
}

TEST(ForkLockTest, AThreadGrantDoesNotHang) {
  ForkBeside([] { const ThreadGrant grant(0); });
}

TEST(ForkLockTest, ABlockCacheDoesNotHang) {
  ForkBeside([] { BlockCache::Shared().Give(BlockCache::Shared().Take(4096)); });
}

TEST(ForkLockTest, AForkHasTheThreadsOfItsParentToItself) {
  const ThreadGrant all(0);
  EXPECT_EQ(InFork([] {
              if (ThreadGrant(0).threads() != AvailableCores()) ::_exit(1);
            }),
            0);
  EXPECT_EQ(ThreadGrant(0).threads(), 1);
}

}  // namespace
}  // namespace nvc
