#include "tf_nvcodec/core/format/color.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

void ToRgb(const YuvToRgb& m, const double yuv[3], double rgb[3]) {
  for (int c = 0; c < 3; ++c) {
    rgb[c] = m.matrix[c][0] * (yuv[0] - m.luma_offset) +
             m.matrix[c][1] * (yuv[1] - m.chroma_offset) +
             m.matrix[c][2] * (yuv[2] - m.chroma_offset);
  }
}

struct KnownColor {
  ColorSpace space;
  ColorRange range;
  int depth;
  double yuv[3], rgb[3];
};

// The code values of 100 % colour bars are those printed in ITU-R BT.601, BT.709, BT.2020 and JFIF,
// rounded to whole numbers.
TEST(ColorTest, ColourBars) {
  const KnownColor colors[] = {
      {ColorSpace::kBt601, ColorRange::kLimited, 8, {235, 128, 128}, {1, 1, 1}},
      {ColorSpace::kBt601, ColorRange::kLimited, 8, {16, 128, 128}, {0, 0, 0}},
      {ColorSpace::kBt601, ColorRange::kLimited, 8, {81, 90, 240}, {1, 0, 0}},
      {ColorSpace::kBt601, ColorRange::kLimited, 8, {145, 54, 34}, {0, 1, 0}},
      {ColorSpace::kBt601, ColorRange::kLimited, 8, {41, 240, 110}, {0, 0, 1}},
      {ColorSpace::kBt601, ColorRange::kFull, 8, {76, 85, 255.5}, {1, 0, 0}},
      {ColorSpace::kBt601, ColorRange::kFull, 8, {29, 255.5, 107}, {0, 0, 1}},
      {ColorSpace::kBt709, ColorRange::kLimited, 8, {63, 102, 240}, {1, 0, 0}},
      {ColorSpace::kBt709, ColorRange::kLimited, 8, {173, 42, 26}, {0, 1, 0}},
      {ColorSpace::kBt709, ColorRange::kLimited, 8, {32, 240, 118}, {0, 0, 1}},
      {ColorSpace::kBt709, ColorRange::kLimited, 10, {250, 409, 960}, {1, 0, 0}},
      {ColorSpace::kBt709, ColorRange::kLimited, 10, {691, 167, 105}, {0, 1, 0}},
      {ColorSpace::kBt709, ColorRange::kFull, 10, {1023, 512, 512}, {1, 1, 1}},
      {ColorSpace::kBt2020, ColorRange::kLimited, 10, {294, 387, 960}, {1, 0, 0}},
      {ColorSpace::kBt2020, ColorRange::kLimited, 12, {3760, 2048, 2048}, {1, 1, 1}},
      {ColorSpace::kBt2020, ColorRange::kFull, 12, {0, 2048, 2048}, {0, 0, 0}},
  };
  for (const KnownColor& color : colors) {
    double rgb[3];
    ToRgb(MakeYuvToRgb(color.space, color.range, color.depth), color.yuv, rgb);
    const RgbToYuv back = MakeRgbToYuv(color.space, color.range, color.depth);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(rgb[c], color.rgb[c], 0.006) << Name(color.space) << " " << color.depth;
      const double yuv = back.offset[c] + back.matrix[c][0] * color.rgb[0] +
                         back.matrix[c][1] * color.rgb[1] + back.matrix[c][2] * color.rgb[2];
      EXPECT_NEAR(yuv, color.yuv[c], 0.5 + 1e-9) << Name(color.space) << " " << color.depth;
    }
  }
}

TEST(ColorTest, DirectionsAreInverse) {
  for (ColorSpace space : {ColorSpace::kBt601, ColorSpace::kBt709, ColorSpace::kBt2020}) {
    for (ColorRange range : {ColorRange::kLimited, ColorRange::kFull}) {
      for (int depth : {8, 10, 12, 16}) {
        const RgbToYuv to = MakeRgbToYuv(space, range, depth);
        const YuvToRgb from = MakeYuvToRgb(space, range, depth);
        const double rgb[3] = {0.1, 0.7, 0.4};
        double yuv[3], back[3];
        for (int c = 0; c < 3; ++c) {
          yuv[c] = to.offset[c] + to.matrix[c][0] * rgb[0] + to.matrix[c][1] * rgb[1] +
                   to.matrix[c][2] * rgb[2];
        }
        ToRgb(from, yuv, back);
        for (int c = 0; c < 3; ++c) EXPECT_NEAR(back[c], rgb[c], 1e-12);
      }
    }
  }
}

TEST(ColorTest, SpaceFollowsTheTagThenTheSize) {
  EXPECT_EQ(ResolveColorSpace(AVCOL_SPC_BT709, 320, 240), ColorSpace::kBt709);
  EXPECT_EQ(ResolveColorSpace(AVCOL_SPC_SMPTE170M, 1920, 1080), ColorSpace::kBt601);
  EXPECT_EQ(ResolveColorSpace(AVCOL_SPC_BT470BG, 1920, 1080), ColorSpace::kBt601);
  EXPECT_EQ(ResolveColorSpace(AVCOL_SPC_BT2020_NCL, 320, 240), ColorSpace::kBt2020);
  const AVColorSpace untagged[] = {AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_RESERVED, AVCOL_SPC_RGB};
  for (AVColorSpace tag : untagged) {
    EXPECT_EQ(ResolveColorSpace(tag, 1279, 576), ColorSpace::kBt601);
    EXPECT_EQ(ResolveColorSpace(tag, 1280, 100), ColorSpace::kBt709);
    EXPECT_EQ(ResolveColorSpace(tag, 100, 577), ColorSpace::kBt709);
    EXPECT_EQ(ResolveColorSpace(tag, 3840, 2160), ColorSpace::kBt709);
  }
}

TEST(ColorTest, WeightsOfEveryTag) {
  EXPECT_EQ(ResolveLumaWeights(AVCOL_SPC_SMPTE240M, 8, 8)->kr, 0.212);
  EXPECT_EQ(ResolveLumaWeights(AVCOL_SPC_FCC, 8, 8)->kb, 0.11);
  EXPECT_EQ(ResolveLumaWeights(AVCOL_SPC_BT2020_NCL, 8, 8)->kr, 0.2627);
  EXPECT_EQ(ResolveLumaWeights(AVCOL_SPC_UNSPECIFIED, 1920, 1080)->kr, 0.2126);
  const AVColorSpace others[] = {AVCOL_SPC_YCGCO, AVCOL_SPC_BT2020_CL, AVCOL_SPC_ICTCP,
                                 AVCOL_SPC_CHROMA_DERIVED_NCL, AVCOL_SPC_SMPTE2085};
  for (AVColorSpace tag : others) {
    const absl::Status status = ResolveLumaWeights(tag, 8, 8).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << tag;
    EXPECT_THAT(std::string(status.message()), HasSubstr("pass color_space"));
  }
}

TEST(ColorTest, RangeFollowsTheTagThenTheFormat) {
  EXPECT_EQ(ResolveColorRange(AVCOL_RANGE_MPEG, AV_PIX_FMT_YUVJ420P), ColorRange::kLimited);
  EXPECT_EQ(ResolveColorRange(AVCOL_RANGE_JPEG, AV_PIX_FMT_YUV420P), ColorRange::kFull);
  const AVColorRange none = AVCOL_RANGE_UNSPECIFIED;
  EXPECT_EQ(ResolveColorRange(none, AV_PIX_FMT_YUV420P10), ColorRange::kLimited);
  EXPECT_EQ(ResolveColorRange(none, AV_PIX_FMT_NV12), ColorRange::kLimited);
  for (AVPixelFormat full :
       {AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P,
        AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY12, AV_PIX_FMT_YA8, AV_PIX_FMT_GBRP,
        AV_PIX_FMT_RGB24, AV_PIX_FMT_PAL8}) {
    EXPECT_EQ(ResolveColorRange(none, full), ColorRange::kFull) << full;
  }
}

}  // namespace
}  // namespace nvc
