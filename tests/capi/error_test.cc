#include "tf_nvcodec/capi/error.h"

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace nvc {
namespace {

int Fail(const char* message) {
  return Guarded([message] { return absl::DataLossError(message); });
}

TEST(CApiErrorTest, TellsCodeAndMessage) {
  EXPECT_EQ(Guarded([] { return absl::OkStatus(); }), 0);
  EXPECT_EQ(Fail("packet 3 is cut off"), static_cast<int>(absl::StatusCode::kDataLoss));
  EXPECT_STREQ(nvc_last_error(), "packet 3 is cut off");
  // The message stays until another call fails.
  EXPECT_EQ(Guarded([] { return absl::OkStatus(); }), 0);
  EXPECT_STREQ(nvc_last_error(), "packet 3 is cut off");
}

TEST(CApiErrorTest, KeepsAMessagePerThread) {
  Fail("here");
  std::string before, after;
  std::thread([&] {
    before = nvc_last_error();
    Fail("there");
    after = nvc_last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "there");
  EXPECT_STREQ(nvc_last_error(), "here");
}

TEST(CApiErrorTest, LetsNoExceptionOut) {
  EXPECT_EQ(Guarded([]() -> absl::Status { throw std::bad_alloc(); }),
            static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_STREQ(nvc_last_error(), "out of memory");
  EXPECT_EQ(Guarded([]() -> absl::Status { throw std::length_error("too long"); }),
            static_cast<int>(absl::StatusCode::kInternal));
  EXPECT_STREQ(nvc_last_error(), "too long");
}

}  // namespace
}  // namespace nvc
