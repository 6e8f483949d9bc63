#include "tf_nvcodec/core/base/pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

bool Any(int) { return true; }

std::vector<int> TakeAll(Pool<int>* pool) {
  std::vector<int> taken;
  while (const std::optional<int> object = pool->Take(Any)) taken.push_back(*object);
  return taken;
}

TEST(PoolTest, TakesTheLatestObjectThatFits) {
  Pool<int> pool(100);
  for (const int object : {1, 2, 11, 3, 12}) EXPECT_TRUE(pool.Give(object, 10).empty());
  EXPECT_EQ(pool.bytes(), 50u);
  EXPECT_EQ(pool.Take([](int object) { return object < 10; }), 3);
  EXPECT_EQ(pool.Take([](int object) { return object > 20; }), std::nullopt);
  EXPECT_EQ(pool.bytes(), 40u);
  EXPECT_EQ(TakeAll(&pool), (std::vector<int>{12, 11, 2, 1}));
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(PoolTest, KeepsTheLatestObjectsWithinItsBytes) {
  Pool<int> pool(30);
  for (int object = 1; object <= 5; ++object) {
    EXPECT_EQ(pool.Give(object, 10).size(), object > 3 ? 1u : 0u);
  }
  EXPECT_EQ(pool.Give(6, 20).size(), 2u);
  EXPECT_EQ(pool.bytes(), 30u);
  const auto left = pool.Give(7, 31);  // it takes the place of no other
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().object, 7);
  EXPECT_EQ(TakeAll(&pool), (std::vector<int>{6, 5}));
}

TEST(PoolTest, KeepsTheLatestObjectsWithinTheirNumber) {
  Pool<int> pool(SIZE_MAX, 2);
  for (const int object : {1, 2, 3}) pool.Give(object);
  EXPECT_EQ(TakeAll(&pool), (std::vector<int>{3, 2}));
  Pool<int> none(SIZE_MAX, 0);
  EXPECT_EQ(none.Give(1).size(), 1u);
  EXPECT_EQ(none.size(), 0u);
}

TEST(PoolTest, DropsOldObjectsWhenOneComes) {
  Pool<int> pool(SIZE_MAX, SIZE_MAX, std::chrono::milliseconds(20));
  pool.Give(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.Give(2).size(), 1u);
  EXPECT_EQ(TakeAll(&pool), std::vector<int>{2});
}

TEST(PoolTest, ASharedObjectStaysAndIsTheLatest) {
  Pool<std::string> pool(SIZE_MAX, 2);
  pool.Give("a");
  pool.Give("b");
  EXPECT_EQ(pool.Share([](const std::string& object) { return object == "a"; }), "a");
  EXPECT_EQ(pool.Share([](const std::string& object) { return object == "c"; }), std::nullopt);
  const auto left = pool.Give("c");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().object, "b");
  EXPECT_EQ(pool.Clear().size(), 2u);
  EXPECT_EQ(pool.size(), 0u);
}

TEST(PoolTest, DestroysObjectsWithoutItsLock) {
  struct Asks {
    Pool<std::unique_ptr<Asks>>* pool;
    ~Asks() { EXPECT_LE(pool->size(), 1u); }
  };
  Pool<std::unique_ptr<Asks>> pool(SIZE_MAX, 1);
  for (int i = 0; i < 3; ++i) pool.Give(std::make_unique<Asks>(Asks{&pool}));
  pool.Clear();
}

TEST(PoolTest, AForkFindsWhatItMayUse) {
  for (const bool leak : {false, true}) {
    auto& pool = *new Pool<int>(SIZE_MAX);
    EXPECT_TRUE(pool.HoldInForks(leak));
    pool.Give(5, 10);
    const pid_t child = fork();
    if (child == 0) _exit(pool.bytes() == (leak ? 0u : 10u) && TakeAll(&pool).empty() == leak);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(TakeAll(&pool), std::vector<int>{5});
  }
}

}  // namespace
}  // namespace nvc
