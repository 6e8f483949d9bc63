#include "tf_nvcodec/core/av_log.h"

#include "gtest/gtest.h"

extern "C" {
#include <libavutil/log.h>
}

namespace nvc {
namespace {

TEST(AvLogScopeTest, KeepsTheLastErrorOfTheInnermostScope) {
  AvLogScope outer;
  av_log(nullptr, AV_LOG_ERROR, "outer %d\n", 1);
  {
    AvLogScope inner;
    av_log(nullptr, AV_LOG_ERROR, "first\n");
    av_log(nullptr, AV_LOG_ERROR, "second\n");
    av_log(nullptr, AV_LOG_WARNING, "only a warning\n");
    EXPECT_EQ(inner.Detail(), " (second)");
  }
  EXPECT_EQ(outer.Detail(), " (outer 1)");
}

TEST(AvLogScopeTest, IsSilentOnStandardError) {
  testing::internal::CaptureStderr();
  {
    AvLogScope scope;
    av_log(nullptr, AV_LOG_ERROR, "inside\n");
    EXPECT_NE(scope.Detail(), "");
  }
  av_log(nullptr, AV_LOG_ERROR, "outside\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(AvLogScopeTest, HasNoDetailWithoutAnError) { EXPECT_EQ(AvLogScope().Detail(), ""); }

}  // namespace
}  // namespace nvc
