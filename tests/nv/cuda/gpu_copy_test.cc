#include "tf_nvcodec/nv/cuda/gpu_copy.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nv/testing/lazy_cuda.h"

namespace nvc {
namespace {

const CUstream kStream = reinterpret_cast<CUstream>(uintptr_t{32});

CUdeviceptr Address(const std::vector<uint8_t>& bytes) {
  return reinterpret_cast<CUdeviceptr>(bytes.data());
}

std::vector<uint8_t> Numbered(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> made(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    made[i] = static_cast<uint8_t>((i + seed) * 2654435761u >> 24);
  }
  return made;
}

// A copy consists of pieces of 4 MiB, so these sizes lie around it.
const size_t kSizes[] = {0, 1, 1000, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (20 << 20) + 5};

TEST(GpuCopyTest, CopyToHostIsDoneOnReturn) {
  GpuDevice* device = lazy_cuda::NewDevice();
  for (size_t bytes : kSizes) {
    const std::vector<uint8_t> from = Numbered(bytes, 1);
    std::vector<uint8_t> to(bytes);
    ASSERT_TRUE(CopyToHost(device, kStream, to.data(), Address(from), bytes).ok());
    EXPECT_EQ(to, from) << bytes;
  }
}

TEST(GpuCopyTest, CopyToHostComesAfterQueuedWork) {
  GpuDevice* device = lazy_cuda::NewDevice();
  const std::vector<uint8_t> made = Numbered(9 << 20, 2);
  std::vector<uint8_t> between(made.size()), to(made.size());
  ASSERT_TRUE(CopyOnDevice(device, kStream, Address(between), Address(made), made.size()).ok());
  EXPECT_NE(between, made);  // the copy is only queued
  ASSERT_TRUE(CopyToHost(device, kStream, to.data(), Address(between), to.size()).ok());
  EXPECT_EQ(to, made);
}

TEST(GpuCopyTest, CopyToDeviceReadsItsSourceBeforeItReturns) {
  GpuDevice* device = lazy_cuda::NewDevice();
  // The copies go through the same page-locked memory, one after the other.
  for (uint32_t seed = 0; seed < 3; ++seed) {
    for (size_t bytes : kSizes) {
      const std::vector<uint8_t> expected = Numbered(bytes, seed);
      std::vector<uint8_t> from = expected, to(bytes), next(bytes);
      ASSERT_TRUE(CopyToDevice(device, kStream, Address(to), from.data(), bytes).ok());
      from.assign(bytes, 0xee);
      ASSERT_TRUE(CopyToDevice(device, kStream, Address(next), from.data(), bytes).ok());
      lazy_cuda::RunAll();
      EXPECT_EQ(to, expected) << bytes;
      EXPECT_EQ(next, from) << bytes;
    }
  }
}

TEST(GpuCopyTest, FailuresAreReportedAndFreeMemory) {
  for (const char* function :
       {"cuMemHostAlloc", "cuEventCreate", "d2h", "record", "cuEventSynchronize"}) {
    GpuDevice* device = lazy_cuda::NewDevice();
    const int objects = lazy_cuda::Objects();
    const std::vector<uint8_t> from = Numbered(9 << 20, 3);
    std::vector<uint8_t> to(from.size());
    lazy_cuda::FailNext(function, 2);
    EXPECT_EQ(CopyToHost(device, kStream, to.data(), Address(from), from.size()).code(),
              absl::StatusCode::kResourceExhausted)
        << function;
    EXPECT_EQ(lazy_cuda::Objects(), objects) << function;
    ASSERT_TRUE(CopyToHost(device, kStream, to.data(), Address(from), from.size()).ok());
    EXPECT_EQ(to, from) << function;
  }
}

TEST(GpuCopyTest, ManyThreadsAndLittlePageLockedMemory) {
  GpuDevice* device = lazy_cuda::NewDevice();
  const int objects = lazy_cuda::Objects();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 24; ++t) {
    threads.emplace_back([device, t] {
      const std::vector<uint8_t> from = Numbered(5 << 20, t);
      std::vector<uint8_t> to(from.size());
      EXPECT_TRUE(CopyToHost(device, kStream, to.data(), Address(from), from.size()).ok());
      EXPECT_EQ(to, from);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // For at most eight copies the device keeps two pieces and two events each.
  EXPECT_LE(lazy_cuda::Objects() - objects, 8 * 4);
}

}  // namespace
}  // namespace nvc
