#include "tf_nvcodec/nv/decode/nvdec_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/nv/testing/nvdec_fake.h"

namespace nvc {
namespace {

using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::Ge;

class NvdecQuotaTest : public ::testing::Test {
 protected:
  std::unique_ptr<NvdecQuota> Quota(int wanted = 0) {
    return std::make_unique<NvdecQuota>(*gpu_.device(), wanted);
  }
  static bool Never() { return false; }
  static void Take(NvdecQuota* quota, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(quota->Take(Never));
  }
  static void GiveBack(NvdecQuota* quota) {
    while (quota->in_use() > 0) quota->GiveBack();
  }
  // Calls Take in another thread and returns when that thread waits. The future gets Take's result.
  static std::future<bool> Waiting(NvdecQuota* quota, std::function<bool()> enough = Never) {
    auto asked = std::make_shared<std::atomic<bool>>(false);
    auto taken = std::async(std::launch::async, [=] {
      return quota->Take([=] {
        *asked = true;
        return enough();
      });
    });
    while (!*asked) std::this_thread::yield();
    quota->in_use();  // takes the mutex, which the thread held when it called `enough`
    EXPECT_TRUE(StillWaits(taken));
    return taken;
  }
  static bool StillWaits(const std::future<bool>& taken) {
    return taken.wait_for(milliseconds(20)) == std::future_status::timeout;
  }

  FakeGpu gpu_;
};

TEST_F(NvdecQuotaTest, AReadHasAsManyAsItWantsAndCanUse) {
  EXPECT_EQ(Quota()->most(), 8);
  EXPECT_EQ(Quota(3)->most(), 3);
  EXPECT_EQ(Quota(100)->most(), 8);
}

TEST_F(NvdecQuotaTest, ALaterReadHasOneAtOnceAndMoreFromThoseThatHaveMost) {
  const auto first = Quota(), second = Quota(), third = Quota();
  Take(first.get(), 8);
  Take(second.get(), 8);
  EXPECT_TRUE(first->MayKeep()) << "nobody waits";
  Take(third.get(), 1);
  EXPECT_TRUE(first->MayKeep()) << "nor now";
  auto another = Waiting(third.get());
  EXPECT_FALSE(first->MayKeep());
  EXPECT_FALSE(second->MayKeep());
  EXPECT_TRUE(first->MayKeep()) << "of 17 in use two will be given back";
  EXPECT_TRUE(third->MayKeep());
  first->GiveBack();
  EXPECT_TRUE(StillWaits(another)) << "16 are in use";
  second->GiveBack();
  EXPECT_TRUE(another.get());
  EXPECT_EQ(third->in_use(), 2);
  EXPECT_TRUE(first->MayKeep());
  for (const auto& quota : {first.get(), second.get(), third.get()}) GiveBack(quota);
}

TEST_F(NvdecQuotaTest, WhatOneReadHasNoUseForGoesToTheOneThatHasFewest) {
  const auto first = Quota(), few = Quota(), fewer = Quota();
  Take(first.get(), 8);
  Take(few.get(), 5);
  Take(fewer.get(), 3);
  auto to_few = Waiting(few.get());
  auto to_fewer = Waiting(fewer.get());
  first->GiveBack();
  EXPECT_TRUE(to_fewer.get());
  EXPECT_TRUE(StillWaits(to_few));
  GiveBack(first.get());
  EXPECT_TRUE(to_few.get());
  EXPECT_EQ(few->in_use(), 6);
  EXPECT_EQ(fewer->in_use(), 4);
  GiveBack(few.get());
  GiveBack(fewer.get());
}

// The quota of a caller's context gives no sessions to others, because its pool keeps no idle ones.
TEST_F(NvdecQuotaTest, AContextOfACallersGivesNone) {
  uint64_t place = 0;
  const auto context = reinterpret_cast<CUcontext>(&place);
  gpu_.foreign[context] = {7, gpu_.device()->ordinal()};
  NvdecQuota first(*gpu_.device()->InContext(context).value(), 0);
  const auto second = Quota(), third = Quota();
  Take(&first, 8);
  Take(second.get(), 8);
  Take(third.get(), 1);
  auto another = Waiting(third.get());
  EXPECT_TRUE(first.MayKeep());
  EXPECT_FALSE(second->MayKeep());
  GiveBack(&first);
  EXPECT_TRUE(another.get());
  GiveBack(second.get());
  GiveBack(third.get());
}

TEST_F(NvdecQuotaTest, WhoHasEnoughStopsWaiting) {
  const auto first = Quota(), second = Quota(), third = Quota();
  Take(first.get(), 8);
  Take(second.get(), 8);
  Take(third.get(), 1);
  std::atomic<bool> enough{false};
  auto taken = Waiting(third.get(), [&] { return enough.load(); });
  enough = true;
  third->AskAgain();
  EXPECT_FALSE(taken.get());
  EXPECT_EQ(third->in_use(), 1);
  EXPECT_TRUE(first->MayKeep()) << "nobody waits any more";
  for (const auto& quota : {first.get(), second.get(), third.get()}) GiveBack(quota);
}

// The first two reads take all sessions and then give some to the others. If they kept them, the
// five other reads would have done an eighth of their segments when the first read is done.
TEST_F(NvdecQuotaTest, ReadsOfOneLengthEndTogether) {
  constexpr int kReads = 7, kSegments = 100;
  std::vector<std::unique_ptr<NvdecQuota>> quotas;
  std::vector<std::atomic<int>> next(kReads), done(kReads);
  std::atomic<bool> go{false};
  std::vector<std::thread> workers;
  std::once_flag first_is_done;
  std::vector<int> then;
  for (int read = 0; read < kReads; ++read) {
    quotas.push_back(Quota());
    NvdecQuota* const quota = quotas.back().get();
    for (int worker = 0; worker < quota->most(); ++worker) {
      workers.emplace_back([&, read, quota] {
        DecoderLease lease(quota);
        const auto enough = [&] { return next[read] >= kSegments; };
        while (true) {
          if (lease.IsOver()) lease.End();
          if (!lease.Begin(enough) || next[read]++ >= kSegments) return;
          while (!go) std::this_thread::sleep_for(milliseconds(1));
          std::this_thread::sleep_for(milliseconds(5));
          if (++done[read] == kSegments) {
            std::call_once(first_is_done, [&] { then.assign(done.begin(), done.end()); });
          }
        }
      });
    }
    while (quota->in_use() < (read < 2 ? quota->most() : 1)) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  go = true;
  for (std::thread& worker : workers) worker.join();
  EXPECT_THAT(then, Each(Ge(kSegments / 4)));
  for (const auto& quota : quotas) EXPECT_EQ(quota->in_use(), 0);
}

}  // namespace
}  // namespace nvc
