// Conversions drawn at random from everything that can be asked for.
#include "gtest/gtest.h"
#include "tests/core/testing/convert_checks.h"
#include "tests/core/testing/convert_draw.h"
#include "tests/core/testing/convert_reference.h"
#include "tf_nvcodec/core/convert/frame_converter.h"

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
  ForDrawnConversions(20, kFormats, 1500,
                      [](const OutputSpec& output, const SourceSpec& source, const AVFrame& frame) {
                        ExpectMatches(output, source, frame);
                      });
}

}  // namespace
}  // namespace nvc
