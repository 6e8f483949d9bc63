// Conversions drawn at random from everything that can be asked for.
#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/core/convert_checks.h"
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

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Coin() { return Between(0, 1) == 1; }
  int Rounded(int value, bool even) { return even ? (value + 1) / 2 * 2 : value; }

  Crop Inside(int height, int width, bool even) {
    Crop crop;
    crop.height = std::min(height, Rounded(Between(1, height), even));
    crop.width = std::min(width, Rounded(Between(1, width), even));
    crop.top = Between(0, height - crop.height);
    crop.left = Between(0, width - crop.width);
    if (even) {
      crop.top -= crop.top % 2;
      crop.left -= crop.left % 2;
    }
    return crop;
  }

  OutputSpec Output(int height, int width) {
    OutputSpec output;
    output.pixel_format = static_cast<PixelFormat>(
        Between(static_cast<int>(PixelFormat::kRgb), static_cast<int>(PixelFormat::kP010)));
    if (Channels(output.pixel_format) != 0) {
      output.sample_type = static_cast<SampleType>(Between(0, 3));
      output.layout = static_cast<Layout>(Between(0, 1));
      if (output.sample_type >= SampleType::kFloat16 && Coin()) {
        output.mean = {0.4f, 0.5f, 0.6f};
        output.std_dev = {0.2f, 0.3f, -0.25f};
      }
    }
    const bool even = Coin();
    if (Coin()) output.crop = Inside(height, width, even);
    if (Coin()) {
      output.height = Rounded(Between(1, 60), even);
      output.width = Rounded(Between(1, 60), even);
    }
    output.resize_method = static_cast<ResizeMethod>(Between(0, 3));
    output.chroma_upsampling = static_cast<ChromaUpsampling>(Between(0, 1));
    return output;
  }

  uint32_t Seed() { return static_cast<uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

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
