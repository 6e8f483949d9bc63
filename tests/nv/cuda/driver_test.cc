#include "tf_nvcodec/nv/cuda/driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tf_nvcodec/nv/cuda/availability.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

// Whether the dynamic loader finds the library, independently of our own code.
bool Installed(const char* library) { return dlopen(library, RTLD_LAZY | RTLD_LOCAL) != nullptr; }

bool GpuRequired() {
  const char* value = std::getenv("TF_NVCODEC_REQUIRE_GPU");
  return value != nullptr && std::string(value) == "1";
}

template <typename Table>
void ExpectLoadedOrNamed(const absl::StatusOr<Table>& table, const char* library) {
  if (!Installed(library)) {
    ASSERT_FALSE(GpuRequired()) << library << " is missing and TF_NVCODEC_REQUIRE_GPU=1";
    ASSERT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(table.status().message(), HasSubstr(library));
  } else if (!table.ok()) {
    ASSERT_FALSE(GpuRequired()) << table.status();
    EXPECT_EQ(table.status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(DriverTest, CudaIsLoadedOrNamed) { ExpectLoadedOrNamed(GetCudaDriver(), "libcuda.so.1"); }

TEST(DriverTest, CuvidIsLoadedOrNamed) { ExpectLoadedOrNamed(GetCuvidDriver(), "libnvcuvid.so.1"); }

TEST(DriverTest, NvencIsLoadedOrNamed) {
  if (GpuRequired() && !Installed("libnvidia-encode.so.1")) {
    GTEST_SKIP() << "a GPU that must be there need not have NVENC";
  }
  ExpectLoadedOrNamed(GetNvencDriver(), "libnvidia-encode.so.1");
}

TEST(DriverTest, ASecondCallAnswersTheSame) {
  const auto first = GetCudaDriver(), second = GetCudaDriver();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
  } else {
    EXPECT_EQ(first.status(), second.status());
  }
}

TEST(AvailabilityTest, WithoutADriverTheReasonNamesTheLibrary) {
  if (Installed("libcuda.so.1")) GTEST_SKIP() << "this machine has the driver";
  for (const auto& found : {FindNvdec(), FindNvenc()}) {
    ASSERT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(found.status().message(), HasSubstr("libcuda.so.1"));
    EXPECT_THAT(found.status().message(), HasSubstr("Install the NVIDIA driver"));
  }
}

TEST(AvailabilityTest, ARequiredGpuDecodesH264) {
  if (!GpuRequired()) GTEST_SKIP() << "TF_NVCODEC_REQUIRE_GPU is not 1";
  const auto found = FindNvdec();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, HasSubstr("h264"));
}

}  // namespace
}  // namespace nvc
