#include "tf_nvcodec/core/ffmpeg/color_tags.h"

#include <cstring>

#include "gtest/gtest.h"

namespace nvc {
namespace {

TEST(ColorTagsTest, ReplacesNumbersWithoutName) {
  AVCodecParameters* codec = avcodec_parameters_alloc();
  codec->color_range = AVCOL_RANGE_JPEG;
  codec->color_space = AVCOL_SPC_BT709;
  for (const int unknown : {243, -1, static_cast<int>(AVCOL_TRC_NB)}) {
    std::memcpy(&codec->color_trc, &unknown, sizeof(unknown));
    std::memcpy(&codec->color_primaries, &unknown, sizeof(unknown));
    KeepKnownTags(codec);
    EXPECT_EQ(codec->color_trc, AVCOL_TRC_UNSPECIFIED);
  }
  EXPECT_EQ(codec->color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(codec->color_space, AVCOL_SPC_BT709);
  avcodec_parameters_free(&codec);
}

}  // namespace
}  // namespace nvc
