#include <atomic>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/core/testing/index_checks.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/index/index_cache.h"

namespace nvc {
namespace {

absl::StatusOr<FrameIndex> Index() {
  const MemorySource source(BFramesClip());
  return FrameIndex::Build(source, {}, nullptr);
}

absl::StatusOr<FrameIndex> Fail() { return absl::UnavailableError("the network is gone"); }

std::shared_ptr<const FrameIndex> Get(IndexMemory* memory, const std::string& key,
                                      const FrameIndex* unwanted = nullptr) {
  const auto got = memory->Get(key, Index, nullptr, unwanted);
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? *got : nullptr;
}

// The memory has room for two indexes.
class IndexMemoryTest : public ::testing::Test {
 protected:
  IndexMemory memory_{Index().value().MemoryBytes() * 5 / 2};
};

TEST_F(IndexMemoryTest, KeepsWhatFits) {
  const auto first = Get(&memory_, "a");
  EXPECT_EQ(first, Get(&memory_, "a"));
  Get(&memory_, "b");
  Get(&memory_, "c");
  EXPECT_NE(first, Get(&memory_, "a"));
}

TEST_F(IndexMemoryTest, AFailureIsNotKept) {
  EXPECT_TRUE(absl::IsUnavailable(memory_.Get("a", Fail).status()));
  Get(&memory_, "a");
}

TEST_F(IndexMemoryTest, AnUnwantedIndexIsReplaced) {
  const auto first = Get(&memory_, "a");
  const auto second = Get(&memory_, "a", first.get());
  EXPECT_NE(first, second);
  EXPECT_EQ(second, Get(&memory_, "a"));
}

TEST_F(IndexMemoryTest, AFailedReplacementKeepsTheOldIndex) {
  const auto first = Get(&memory_, "a");
  EXPECT_TRUE(absl::IsUnavailable(memory_.Get("a", Fail, nullptr, first.get()).status()));
  EXPECT_EQ(first, Get(&memory_, "a"));
  for (const char* const key : {"b", "c", "d", "e"}) Get(&memory_, key);
  EXPECT_NE(first, Get(&memory_, "a"));
}

TEST_F(IndexMemoryTest, AnIndexMayBeDroppedWhileItIsReplaced) {
  for (int round = 0; round < 3; ++round) {
    const auto first = Get(&memory_, "a");
    const auto replace = [this] {
      for (const char* const key : {"b", "c", "d"}) Get(&memory_, key);
      return Index();
    };
    const auto second = memory_.Get("a", replace, nullptr, first.get());
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(*second, Get(&memory_, "a"));
  }
  // The bytes in use are still counted correctly.
  const auto last = Get(&memory_, "x");
  EXPECT_EQ(Get(&memory_, "a"), Get(&memory_, "a"));
  EXPECT_EQ(last, Get(&memory_, "x"));
}

TEST_F(IndexMemoryTest, WaitingForAnotherCallCanBeCancelled) {
  std::atomic<int> waited = 0;
  const auto slow = [&] {
    const auto cancelled = [&] { return ++waited == 3; };
    std::thread([&] {
      const auto got = memory_.Get("a", Index, cancelled);
      EXPECT_TRUE(absl::IsCancelled(got.status())) << got.status();
    }).join();
    return Index();
  };
  EXPECT_TRUE(memory_.Get("a", slow).ok());
  EXPECT_EQ(waited, 3);
}

}  // namespace
}  // namespace nvc
