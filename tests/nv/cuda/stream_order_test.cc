#include "tf_nvcodec/nv/cuda/stream_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/nv/testing/nvdec_fake.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kNotReady = 600;

CUstream Stream(uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

TEST(StreamNumberTest, FollowsDlpack) {
  EXPECT_EQ(*StreamOfNumber(1), Stream(1));
  EXPECT_EQ(*StreamOfNumber(0x7f0012345678), Stream(0x7f0012345678));
  EXPECT_EQ(NumberOfStream(nullptr), 1);
  EXPECT_EQ(NumberOfStream(Stream(0x7f0012345678)), 0x7f0012345678);
  for (const int64_t none : {0, -1, -2}) {
    EXPECT_EQ(StreamOfNumber(none).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(StreamOfNumber(none).status().message()), HasSubstr("handle; got"));
  }
}

TEST(OrderStreamsTest, TheLaterWaitsForTheEarlierOnTheGpu) {
  FakeGpu gpu;
  ASSERT_TRUE(OrderStreams(gpu.device(), Stream(0x100), Stream(0x200)).ok());
  EXPECT_THAT(gpu.CallsOf("EventRecord"), ElementsAre("EventRecord 256"));
  EXPECT_EQ(gpu.Count("StreamWaitEvent"), 1);
  EXPECT_EQ(gpu.Count("EventSynchronize") + gpu.Count("StreamSynchronize"), 0);
}

TEST(OrderStreamsTest, OneStreamIsInOrder) {
  FakeGpu gpu;
  ASSERT_TRUE(OrderStreams(gpu.device(), Stream(0x100), Stream(0x100)).ok());
  ASSERT_TRUE(OrderStreams(gpu.device(), nullptr, Stream(1)).ok());
  EXPECT_TRUE(gpu.calls.empty());
}

TEST(OrderStreamsTest, FailuresAreReportedAndLeaveNothing) {
  for (const char* const function : {"EventCreate", "EventRecord", "StreamWaitEvent"}) {
    FakeGpu gpu;
    gpu.Fail(function, kCudaInvalidValue);
    EXPECT_FALSE(OrderStreams(gpu.device(), Stream(0x100), Stream(0x200)).ok()) << function;
  }
}

TEST(ReleaseAfterTest, WaitsForTheStreamWithoutBlocking) {
  FakeGpu gpu;
  int released = 0;
  gpu.Fail("EventQuery", kNotReady, /*times=*/2);
  ReleaseAfter(gpu.device(), Stream(0x100), [&] { ++released; });
  EXPECT_EQ(released, 0);
  EXPECT_EQ(ReleasesPending(), 1);
  ReleaseDone();
  EXPECT_EQ(released, 0);
  ReleaseDone();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(ReleasesPending(), 0);
  ReleaseDone();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(gpu.Count("EventSynchronize") + gpu.Count("StreamSynchronize"), 0);
}

TEST(ReleaseAfterTest, ReleasesAtOnceIfTheDriverFails) {
  FakeGpu gpu;
  int released = 0;
  gpu.Fail("EventRecord", kCudaInvalidValue);
  ReleaseAfter(gpu.device(), Stream(0x100), [&] { ++released; });
  EXPECT_EQ(released, 1);
  gpu.Fail("EventQuery", kCudaInvalidValue);
  ReleaseAfter(gpu.device(), Stream(0x100), [&] { ++released; });
  EXPECT_EQ(released, 2);
  EXPECT_EQ(ReleasesPending(), 0);
}

TEST(ReleaseAfterTest, AReleaseMayReleaseMore) {
  FakeGpu gpu;
  int released = 0;
  ReleaseAfter(gpu.device(), Stream(0x100), [&] {
    ++released;
    ReleaseAfter(gpu.device(), Stream(0x100), [&] { ++released; });
  });
  EXPECT_EQ(released, 2);
  EXPECT_EQ(ReleasesPending(), 0);
}

}  // namespace
}  // namespace nvc
