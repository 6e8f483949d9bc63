#include "tf_nvcodec/core/base/block_cache.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;
constexpr auto kLong = std::chrono::hours(1);

bool IsZero(const Block& block, size_t bytes) {
  return std::all_of(block.get(), block.get() + bytes, [](uint8_t byte) { return byte == 0; });
}

size_t SizeOf(const Block& block) { return block.get_deleter().size; }

TEST(BlockCacheTest, ClearsAReusedBlock) {
  BlockCache cache(16 * kMegabyte, kLong);
  Block block = cache.Take(kMegabyte);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(IsZero(block, kMegabyte));
  std::memset(block.get(), 255, SizeOf(block));
  const uint8_t* const data = block.get();
  const size_t size = SizeOf(block);
  cache.Give(std::move(block));
  EXPECT_EQ(cache.idle_bytes(), size);
  const Block again = cache.Take(kMegabyte);
  EXPECT_EQ(cache.idle_bytes(), 0u);
  ASSERT_EQ(again.get(), data);
  EXPECT_TRUE(IsZero(again, kMegabyte));
}

TEST(BlockCacheTest, BlocksFitAndWasteAtMostAnEighth) {
  BlockCache cache(0, kLong);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const size_t bytes = (size_t{256} << 10) + random() % (size_t{1} << (19 + i % 6));
    const Block block = cache.Take(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_GE(SizeOf(block), bytes);
    EXPECT_LE(SizeOf(block), bytes + bytes / 8 + 1) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 4096, 0u);
  }
}

TEST(BlockCacheTest, OnlySimilarSizesShareBlocks) {
  BlockCache cache(16 * kMegabyte, kLong);
  Block block = cache.Take(kMegabyte - 5000);
  const uint8_t* const data = block.get();
  cache.Give(std::move(block));
  EXPECT_NE(cache.Take(2 * kMegabyte).get(), data);
  EXPECT_EQ(cache.Take(kMegabyte).get(), data);
}

TEST(BlockCacheTest, OutOfMemoryGivesNullData) {
  BlockCache cache(kMegabyte, kLong);
  EXPECT_EQ(cache.Take(size_t{1} << 60), nullptr);
}

TEST(BlockCacheTest, NoTwoThreadsGetTheSameBlock) {
  BlockCache cache(8 * kMegabyte, std::chrono::microseconds(100));
  const auto work = [&cache](uint8_t mark) {
    std::mt19937_64 random(mark);
    for (int i = 0; i < 300; ++i) {
      const size_t bytes = (1 + random() % 4) << 18;
      Block block = cache.Take(bytes);
      ASSERT_TRUE(IsZero(block, bytes));
      std::memset(block.get(), mark, SizeOf(block));
      std::this_thread::yield();
      ASSERT_TRUE(std::all_of(block.get(), block.get() + SizeOf(block),
                              [mark](uint8_t byte) { return byte == mark; }));
      cache.Give(std::move(block));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) threads.emplace_back(work, static_cast<uint8_t>(i));
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.idle_bytes(), 8 * kMegabyte);
}

}  // namespace
}  // namespace nvc
