#include "tf_nvcodec/nv/decode/nvdec_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/nv/testing/nvdec_fake.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;

NvdecFormat FormatOf(int width, int height, int bit_depth = 8,
                     cudaVideoCodec codec = cudaVideoCodec_H264) {
  NvdecFormat format;
  format.codec = codec;
  format.bit_depth = bit_depth;
  format.width = width;
  format.height = height;
  return format;
}

NvdecPool::Limits Limits(size_t max_idle, size_t max_idle_bytes = size_t{1} << 40) {
  NvdecPool::Limits limits;
  limits.max_idle = max_idle;
  limits.max_idle_bytes = max_idle_bytes;
  return limits;
}

class NvdecPoolTest : public ::testing::Test {
 protected:
  // Takes a session from the pool and gives it back. Returns its address.
  static const NvdecSession* Use(NvdecPool* pool, const NvdecFormat& format, int surfaces = 4) {
    auto session = pool->Acquire(format, surfaces);
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_EQ((*session)->format().width, format.width);
    EXPECT_EQ((*session)->format().height, format.height);
    return session->get();
  }

  FakeGpu gpu_;
};

TEST_F(NvdecPoolTest, TheSameFormatTakesTheSameSessionAsItIs) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  const NvdecSession* const first = Use(&pool, FormatOf(96, 64));
  gpu_.calls.clear();
  EXPECT_EQ(Use(&pool, FormatOf(96, 64)), first);
  EXPECT_THAT(gpu_.calls, ElementsAre());
  const NvdecPool::Stats stats = pool.stats();
  EXPECT_EQ(stats.created, 1);
  EXPECT_EQ(stats.reused, 1);
  EXPECT_EQ(stats.reconfigured, 0);
  EXPECT_EQ(stats.destroyed, 0);
  EXPECT_EQ(stats.idle, 1);
  EXPECT_EQ(stats.in_use, 0);
}

TEST_F(NvdecPoolTest, ASmallerSizeReconfigures) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  const NvdecSession* const first = Use(&pool, FormatOf(1920, 1088));
  EXPECT_EQ(Use(&pool, FormatOf(1280, 720)), first);
  EXPECT_EQ(Use(&pool, FormatOf(1920, 1088)), first);
  EXPECT_THAT(gpu_.CallsOf("Reconfigure"),
              ElementsAre("Reconfigure 1280x720", "Reconfigure 1920x1088"));
  EXPECT_EQ(pool.stats().created, 1);
  EXPECT_EQ(pool.stats().reused, 2);
  EXPECT_EQ(pool.stats().reconfigured, 2);
}

TEST_F(NvdecPoolTest, TheVerySizeIsPreferred) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  auto large = pool.Acquire(FormatOf(1920, 1088), 4).value();
  const NvdecSession* const small = Use(&pool, FormatOf(1280, 720));
  large.reset();  // used last, and could be reconfigured to the small size
  EXPECT_EQ(Use(&pool, FormatOf(1280, 720)), small);
  EXPECT_EQ(gpu_.Count("Reconfigure"), 0);
}

TEST_F(NvdecPoolTest, WhatDoesNotFitIsOpenedAnew) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(16));
  Use(&pool, FormatOf(1280, 720));
  Use(&pool, FormatOf(1920, 1088));                         // larger
  Use(&pool, FormatOf(1280, 720, 10));                      // deeper
  Use(&pool, FormatOf(1280, 720, 8, cudaVideoCodec_HEVC));  // another codec
  Use(&pool, FormatOf(1280, 720), 17);                      // needs more surfaces
  EXPECT_EQ(pool.stats().created, 5);
  EXPECT_EQ(pool.stats().reused, 0);
}

TEST_F(NvdecPoolTest, SessionsInUseAreNotShared) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  const auto a = pool.Acquire(FormatOf(96, 64), 4).value();
  const auto b = pool.Acquire(FormatOf(96, 64), 4).value();
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.stats().in_use, 2);
}

TEST_F(NvdecPoolTest, TheLeastRecentlyUsedGoesFirst) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(2));
  auto a = pool.Acquire(FormatOf(64, 64), 4).value();
  auto b = pool.Acquire(FormatOf(96, 96), 4).value();
  auto c = pool.Acquire(FormatOf(128, 128), 4).value();
  const NvdecSession* const kept[] = {b.get(), c.get()};
  a.reset();
  b.reset();
  EXPECT_EQ(pool.stats().destroyed, 0);
  c.reset();
  EXPECT_EQ(pool.stats().destroyed, 1);
  EXPECT_EQ(pool.stats().idle, 2);
  EXPECT_EQ(Use(&pool, FormatOf(96, 96)), kept[0]);
  EXPECT_EQ(Use(&pool, FormatOf(128, 128)), kept[1]);
  EXPECT_EQ(pool.stats().created, 3);
}

TEST_F(NvdecPoolTest, IdleSessionsTakeOnlySoMuchMemory) {
  size_t bytes = 0;
  {
    NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(9));
    bytes = pool.Acquire(FormatOf(96, 64), 4).value()->bytes();
  }
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(9, 2 * bytes));
  std::vector<std::shared_ptr<NvdecSession>> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(pool.Acquire(FormatOf(96, 64), 4).value());
  sessions.clear();
  EXPECT_EQ(pool.stats().idle, 2);
  EXPECT_EQ(pool.stats().destroyed, 1);
}

TEST_F(NvdecPoolTest, AFailedSessionIsNeverUsedAgain) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  {
    const auto session = pool.Acquire(FormatOf(96, 64), 4).value();
    gpu_.Fail("Decode", kCudaInvalidValue);
    CUVIDPICPARAMS picture = {};
    EXPECT_FALSE(session->Decode(&picture).ok());
    EXPECT_EQ(gpu_.Count("DestroyDecoder"), 0);
  }
  EXPECT_EQ(gpu_.Count("DestroyDecoder"), 1);
  EXPECT_EQ(pool.stats().failed, 1);
  EXPECT_EQ(pool.stats().destroyed, 1);
  Use(&pool, FormatOf(96, 64));
  EXPECT_EQ(pool.stats().created, 2);
  EXPECT_EQ(pool.stats().reused, 0);
}

TEST_F(NvdecPoolTest, ASessionThatCantBeReconfiguredIsReplaced) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  Use(&pool, FormatOf(1920, 1088));
  gpu_.Fail("Reconfigure", 1);
  Use(&pool, FormatOf(1280, 720));
  EXPECT_EQ(pool.stats().created, 2);
  EXPECT_EQ(pool.stats().reused, 0);
  EXPECT_EQ(pool.stats().failed, 1);
  EXPECT_EQ(pool.stats().idle, 1);
  EXPECT_EQ(pool.stats().in_use, 0);
}

TEST_F(NvdecPoolTest, WhenMemoryIsOutTheIdleOnesGo) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  Use(&pool, FormatOf(96, 64));
  Use(&pool, FormatOf(96, 64, 10));
  gpu_.Fail("CreateDecoder", kCudaOutOfMemory);
  Use(&pool, FormatOf(1920, 1088));
  EXPECT_EQ(pool.stats().destroyed, 2);
  EXPECT_EQ(pool.stats().idle, 1);
}

TEST_F(NvdecPoolTest, WhenMemoryIsStillOutTheNextCallMayWork) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  gpu_.Fail("CreateDecoder", kCudaOutOfMemory, /*times=*/2);
  EXPECT_TRUE(absl::IsResourceExhausted(pool.Acquire(FormatOf(96, 64), 4).status()));
  EXPECT_EQ(pool.stats().in_use, 0);
  Use(&pool, FormatOf(96, 64));
  EXPECT_EQ(pool.stats().created, 1);
}

TEST_F(NvdecPoolTest, OtherFailuresAreNotTriedAgain) {
  NvdecPool pool(gpu_.device(), gpu_.cuvid(), Limits(4));
  gpu_.Fail("CreateDecoder", 719);
  EXPECT_EQ(pool.Acquire(FormatOf(96, 64), 4).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(gpu_.Count("CreateDecoder"), 1);
}

TEST_F(NvdecPoolTest, OneForEachDevice) {
  NvdecPool* const pool = NvdecPool::Of(gpu_.device()).value();
  EXPECT_EQ(NvdecPool::Of(gpu_.device()).value(), pool);
  const int64_t created = NvdecPool::TotalStats().created;
  Use(pool, FormatOf(96, 64));
  EXPECT_EQ(NvdecPool::TotalStats().created, created + 1);
  EXPECT_EQ(NvdecPool::TotalStats().idle, 1);
  pool->Clear();
  EXPECT_EQ(NvdecPool::TotalStats().idle, 0);
}

}  // namespace
}  // namespace nvc
