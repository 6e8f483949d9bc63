#include "tf_nvcodec/core/base/status.h"

#include <cerrno>

#include "gtest/gtest.h"

extern "C" {
#include <libavutil/error.h>
}

namespace nvc {
namespace {

TEST(FfmpegErrorTest, MapsCodes) {
  EXPECT_TRUE(absl::IsResourceExhausted(FfmpegError(AVERROR(ENOMEM), "x")));
  EXPECT_TRUE(absl::IsCancelled(FfmpegError(AVERROR_EXIT, "x")));
  EXPECT_TRUE(absl::IsUnimplemented(FfmpegError(AVERROR_DECODER_NOT_FOUND, "x")));
  EXPECT_TRUE(absl::IsDataLoss(FfmpegError(AVERROR_INVALIDDATA, "x")));
}

TEST(FfmpegErrorTest, SaysWhatWasDoneAndWhy) {
  EXPECT_EQ(FfmpegError(AVERROR_INVALIDDATA, "reading packet 3").message(),
            "reading packet 3: Invalid data found when processing input");
}

absl::StatusOr<int> Twice(absl::StatusOr<int> in) {
  NVC_ASSIGN_OR_RETURN(const int value, in);
  NVC_RETURN_IF_ERROR(value > 10 ? absl::OutOfRangeError("large") : absl::OkStatus());
  return 2 * value;
}

TEST(MacrosTest, PassValuesAndErrorsOn) {
  EXPECT_EQ(*Twice(4), 8);
  EXPECT_TRUE(absl::IsOutOfRange(Twice(11).status()));
  EXPECT_TRUE(absl::IsAborted(Twice(absl::AbortedError("no")).status()));
}

}  // namespace
}  // namespace nvc
