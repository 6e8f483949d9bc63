#include "tf_nvcodec/core/decode/video_info.h"

#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

TEST(ProbeVideoTest, DescribesARealClip) {
  const MemorySource source(RealClip());
  const auto info = ProbeVideo(source, {}, nullptr);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->width, 1280);
  EXPECT_EQ(info->height, 720);
  EXPECT_EQ(info->num_frames, kRealClipFrames);
  EXPECT_DOUBLE_EQ(info->fps, 25);
  EXPECT_NEAR(info->duration, kRealClipFrames / 25.0, 1e-9);
  EXPECT_EQ(info->codec, "h264");
  EXPECT_EQ(info->pixel_format, "yuv420p");
  EXPECT_EQ(info->bit_depth, 8);
  EXPECT_TRUE(info->orientation == Orientation{});
  EXPECT_TRUE(info->has_audio);
  EXPECT_DOUBLE_EQ(info->sample_aspect_ratio, 1);
  EXPECT_EQ(info->color_primaries, "unknown");
  EXPECT_EQ(info->color_transfer, "unknown");
}

TEST(ProbeVideoTest, PassesErrorsOn) {
  const MemorySource empty("");
  EXPECT_TRUE(absl::IsInvalidArgument(ProbeVideo(empty, {}, nullptr).status()));
}

}  // namespace
}  // namespace nvc
