#include "tf_nvcodec/core/base/block_cache.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr auto kLong = std::chrono::hours(1);

bool IsZero(const Block& block, size_t bytes) {
  return std::all_of(block.data, block.data + bytes, [](uint8_t byte) { return byte == 0; });
}

TEST(BlockCacheTest, GivesTheLatestBlockAgain) {
  BlockCache cache(16 * kMegabyte, kLong);
  const Block first = cache.Take(kMegabyte);
  const Block second = cache.Take(kMegabyte);
  ASSERT_NE(first.data, nullptr);
  ASSERT_NE(second.data, nullptr);
  EXPECT_EQ(cache.idle_bytes(), 0u);
  cache.Give(second);
  cache.Give(first);
  EXPECT_EQ(cache.idle_bytes(), first.size + second.size);
  EXPECT_EQ(cache.Take(kMegabyte).data, first.data);
  EXPECT_EQ(cache.Take(kMegabyte).data, second.data);
  EXPECT_EQ(cache.idle_bytes(), 0u);
  cache.Give(first);
  cache.Give(second);
}

TEST(BlockCacheTest, ClearsWhatTheLastUserLeft) {
  BlockCache cache(16 * kMegabyte, kLong);
  const Block block = cache.Take(kMegabyte);
  EXPECT_TRUE(IsZero(block, kMegabyte));
  std::memset(block.data, 255, block.size);
  cache.Give(block);
  const Block again = cache.Take(kMegabyte);
  ASSERT_EQ(again.data, block.data);
  EXPECT_TRUE(IsZero(again, kMegabyte));
  cache.Give(again);
}

TEST(BlockCacheTest, BlocksFitAndWasteAtMostAnEighth) {
  BlockCache cache(0, kLong);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const size_t bytes = (size_t{256} << 10) + random() % (size_t{1} << (19 + i % 6));
    const Block block = cache.Take(bytes);
    ASSERT_NE(block.data, nullptr);
    EXPECT_GE(block.size, bytes);
    EXPECT_LE(block.size, bytes + bytes / 8 + 1) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 4096, 0u);
    cache.Give(block);
  }
}

TEST(BlockCacheTest, SizesThatAreNearShareBlocksAndOthersDoNot) {
  BlockCache cache(16 * kMegabyte, kLong);
  const Block block = cache.Take(kMegabyte - 5000);
  cache.Give(block);
  const Block larger = cache.Take(2 * kMegabyte);
  EXPECT_NE(larger.data, block.data);
  const Block near = cache.Take(kMegabyte);
  EXPECT_EQ(near.data, block.data);
  cache.Give(near);
  cache.Give(larger);
}

TEST(BlockCacheTest, KeepsTheLatestWithinItsLimit) {
  BlockCache cache(4 * kMegabyte, kLong);
  std::vector<Block> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(cache.Take(kMegabyte));
  for (const Block& block : blocks) {
    cache.Give(block);
    EXPECT_LE(cache.idle_bytes(), 4 * kMegabyte);
  }
  EXPECT_EQ(cache.idle_bytes(), 4 * kMegabyte);
  for (int i = 5; i >= 2; --i) EXPECT_EQ(cache.Take(kMegabyte).data, blocks[i].data);
  EXPECT_EQ(cache.idle_bytes(), 0u);
  for (int i = 5; i >= 2; --i) cache.Give(blocks[i]);
}

TEST(BlockCacheTest, ABlockAboveTheLimitDrivesNoOtherOut) {
  BlockCache cache(4 * kMegabyte, kLong);
  cache.Give(cache.Take(kMegabyte));
  cache.Give(cache.Take(5 * kMegabyte));
  EXPECT_EQ(cache.idle_bytes(), kMegabyte);
}

TEST(BlockCacheTest, DropsWhatWasIdleForLong) {
  BlockCache cache(16 * kMegabyte, std::chrono::milliseconds(20));
  const Block old = cache.Take(kMegabyte);
  const Block late = cache.Take(2 * kMegabyte);
  cache.Give(old);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  EXPECT_EQ(cache.idle_bytes(), kMegabyte);  // nothing was given back since
  cache.Give(late);
  EXPECT_EQ(cache.idle_bytes(), 2 * kMegabyte);
}

TEST(BlockCacheTest, OutOfMemoryIsNoData) {
  BlockCache cache(kMegabyte, kLong);
  EXPECT_EQ(cache.Take(size_t{1} << 60).data, nullptr);
}

TEST(BlockCacheTest, NoTwoThreadsGetTheSameBlock) {
  BlockCache cache(8 * kMegabyte, std::chrono::microseconds(100));
  const auto work = [&cache](uint8_t mark) {
    std::mt19937_64 random(mark);
    for (int i = 0; i < 300; ++i) {
      const size_t bytes = (1 + random() % 4) << 18;
      const Block block = cache.Take(bytes);
      ASSERT_TRUE(IsZero(block, bytes));
      std::memset(block.data, mark, block.size);
      std::this_thread::yield();
      ASSERT_TRUE(std::all_of(block.data, block.data + block.size,
                              [mark](uint8_t byte) { return byte == mark; }));
      cache.Give(block);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) threads.emplace_back(work, static_cast<uint8_t>(i));
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.idle_bytes(), 8 * kMegabyte);
}

}  // namespace
}  // namespace nvc
