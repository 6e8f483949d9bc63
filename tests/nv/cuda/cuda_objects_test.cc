#include "tf_nvcodec/nv/cuda/cuda_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nv/testing/nvdec_fake.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

TEST(GpuDeviceTest, DescribesTheGpu) {
  FakeGpu gpu;
  EXPECT_EQ(gpu.device()->name(), "Fake H200");
  EXPECT_EQ(gpu.device()->compute_capability(), 90);
  EXPECT_EQ(gpu.device()->total_memory(), size_t{32} << 30);
}

TEST(CudaDriverTest, MapsErrors) {
  FakeGpu gpu;
  const auto code = [&gpu](int result) {
    return gpu.device()->cuda().Check(static_cast<CUresult>(result), "x").code();
  };
  EXPECT_EQ(code(0), absl::StatusCode::kOk);
  EXPECT_EQ(code(kCudaOutOfMemory), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(kCudaNoDevice), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(kCudaNotSupported), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(code(700), absl::StatusCode::kInternal);
}

TEST(CudaObjectsTest, OwnersMoveAndCloseOnce) {
  FakeGpu gpu;
  {
    DeviceMemory memory = DeviceMemory::Allocate(gpu.device(), 64).value();
    EXPECT_EQ(memory.bytes(), 64u);
    DeviceMemory other = std::move(memory);
    EXPECT_EQ(memory.get(), 0u);
    EXPECT_NE(other.get(), 0u);
    other = DeviceMemory::Allocate(gpu.device(), 32).value();
    EXPECT_EQ(gpu.open["memory"].size(), 1u);
  }
  EXPECT_TRUE(gpu.open["memory"].empty());
}

TEST(CudaObjectsTest, OutOfMemorySaysHowMuch) {
  FakeGpu gpu;
  gpu.Fail("MemAlloc", kCudaOutOfMemory);
  const auto memory = DeviceMemory::Allocate(gpu.device(), 4096);
  ASSERT_TRUE(absl::IsResourceExhausted(memory.status()));
  EXPECT_THAT(memory.status().message(), HasSubstr("allocating 4096 bytes on Fake H200"));
  EXPECT_TRUE(DeviceMemory::Allocate(gpu.device(), 4096).ok());
}

}  // namespace
}  // namespace nvc
