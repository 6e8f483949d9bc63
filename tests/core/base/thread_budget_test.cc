#include "tf_nvcodec/core/base/thread_budget.h"

#include <memory>

#include "gtest/gtest.h"

namespace nvc {
namespace {

TEST(ThreadGrantTest, TheFirstGetsAllThreadsAndLaterOnesGetOne) {
  const auto first = std::make_unique<ThreadGrant>(0);
  EXPECT_EQ(first->threads(), AvailableCores());
  EXPECT_EQ(ThreadGrant(0).threads(), 1);
  EXPECT_EQ(ThreadGrant(0).threads(), 1);
}

TEST(ThreadGrantTest, ReturnsItsShare) {
  { const ThreadGrant taken(0); }
  EXPECT_EQ(ThreadGrant(0).threads(), AvailableCores());
}

TEST(ThreadGrantTest, AnExplicitNumberIsGranted) {
  const ThreadGrant many(64);
  EXPECT_EQ(many.threads(), 64);
  EXPECT_EQ(ThreadGrant(3).threads(), 3);
}

}  // namespace
}  // namespace nvc
