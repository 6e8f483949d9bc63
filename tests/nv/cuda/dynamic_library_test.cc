#include "tf_nvcodec/nv/cuda/dynamic_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::HasSubstr;

TEST(DynamicLibraryTest, MissingLibraryIsNamedWithTheCure) {
  const auto library = DynamicLibrary::Open("libno_such_driver.so.7", "Install the driver.");
  ASSERT_EQ(library.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(library.status().message(), HasSubstr("cannot open libno_such_driver.so.7"));
  EXPECT_THAT(library.status().message(), HasSubstr("No such file"));
  EXPECT_THAT(library.status().message(), HasSubstr("Install the driver."));
}

TEST(DynamicLibraryTest, FindsAFunction) {
  const auto library = DynamicLibrary::Open("libm.so.6", "");
  ASSERT_TRUE(library.ok()) << library.status();
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->Resolve("cos", &cosine).ok());
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(DynamicLibraryTest, MissingFunctionIsNamed) {
  const auto library = DynamicLibrary::Open("libm.so.6", "");
  ASSERT_TRUE(library.ok()) << library.status();
  void (*function)() = nullptr;
  const absl::Status status = library->Resolve("cuFromTheFuture", &function);
  ASSERT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("libm.so.6 has no cuFromTheFuture"));
  EXPECT_EQ(function, nullptr);
}

}  // namespace
}  // namespace nvc
