// Conversions drawn at random from everything that can be asked for.
#include "gtest/gtest.h"
#include "tests/core/convert_checks.h"
#include "tests/core/convert_draw.h"
#include "tests/core/convert_reference.h"
#include "tf_nvcodec/core/frame_converter.h"

namespace nvc {
namespace {

const AVPixelFormat kFormats[] = {
    AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,  AV_PIX_FMT_YUV444P,    AV_PIX_FMT_YUV440P,
    AV_PIX_FMT_YUV411P,   AV_PIX_FMT_YUV410P,  AV_PIX_FMT_YUV420P10,  AV_PIX_FMT_YUV422P10,
    AV_PIX_FMT_YUV444P12, AV_PIX_FMT_NV12,     AV_PIX_FMT_NV21,       AV_PIX_FMT_P010,
    AV_PIX_FMT_GRAY8,     AV_PIX_FMT_GRAY10,   AV_PIX_FMT_GBRP,       AV_PIX_FMT_GBRP10,
    AV_PIX_FMT_RGB24,     AV_PIX_FMT_BGRA,     AV_PIX_FMT_YUYV422,    AV_PIX_FMT_UYVY422,
    AV_PIX_FMT_PAL8,      AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVA420P,   AV_PIX_FMT_RGB48,
    AV_PIX_FMT_GBRAP12,   AV_PIX_FMT_YUV420P9, AV_PIX_FMT_YUV420P10BE};

TEST(FrameConverterRandomTest, AgreesWithTheReference) {
  Draw draw(20);
  int converted = 0;
  while (converted < 1500) {
    const AVPixelFormat format =
        kFormats[draw.Between(0, static_cast<int>(sizeof(kFormats) / sizeof(*kFormats)) - 1)];
    const bool wide = draw.Between(0, 9) == 0;
    const int width = draw.Between(1, wide ? 150 : 40), height = draw.Between(1, wide ? 60 : 40);
    const int rotation = 90 * draw.Between(0, 3);
    const bool turned = rotation % 180 != 0;
    OutputSpec output = draw.Output(turned ? width : height, turned ? height : width);
    if (!output.Validate().ok()) continue;
    TestFrame frame(format, width, height, draw.Seed(), 3 * draw.Between(0, 2));
    frame.frame().color_range = static_cast<AVColorRange>(draw.Between(0, 2));
    frame.frame().colorspace = draw.Coin() ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    frame.frame().chroma_location = static_cast<AVChromaLocation>(draw.Between(0, 6));
    ExpectMatches(output, SourceSpec::Of(frame.frame(), rotation), frame.frame());
    ++converted;
  }
}

}  // namespace
}  // namespace nvc
