#include "tf_nvcodec/core/ffmpeg/av_log.h"

#include <thread>

#include "gtest/gtest.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/log.h>
}

namespace nvc {
namespace {

TEST(AvLogScopeTest, KeepsTheErrorsOfTheInnermostScope) {
  AvLogScope outer;
  av_log(nullptr, AV_LOG_ERROR, "outer %d\n", 1);
  {
    AvLogScope inner;
    av_log(nullptr, AV_LOG_WARNING, "only a warning\n");
    av_log(nullptr, AV_LOG_ERROR, "cause\n");
    av_log(nullptr, AV_LOG_ERROR, "consequence\n");
    EXPECT_EQ(inner.Detail(), " (cause; consequence)");
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

TEST(AvErrorFlagTest, SeesErrorsOfItsContextOnAnyThread) {
  AvErrorFlag flag;
  AVCodecContext* ours = avcodec_alloc_context3(nullptr);
  AVCodecContext* other = avcodec_alloc_context3(nullptr);
  ours->opaque = flag.opaque();
  av_log(other, AV_LOG_ERROR, "not ours\n");
  av_log(ours, AV_LOG_WARNING, "no error\n");
  EXPECT_FALSE(flag.Take());
  std::thread([&] { av_log(ours, AV_LOG_ERROR, "broken\n"); }).join();
  EXPECT_TRUE(flag.Take());
  EXPECT_FALSE(flag.Take());
  EXPECT_FALSE(flag.TakeConcealment());
  av_log(ours, AV_LOG_INFO, "concealing %d errors\n", 3);
  EXPECT_TRUE(flag.Take());
  EXPECT_TRUE(flag.TakeConcealment());
  EXPECT_FALSE(flag.TakeConcealment());
  avcodec_free_context(&ours);
  avcodec_free_context(&other);
}

}  // namespace
}  // namespace nvc
