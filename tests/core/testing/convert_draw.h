// Draws random output specs from all supported ones, and random pictures to convert with them.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_DRAW_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_DRAW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "tests/core/testing/convert_reference.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

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
    output.flip = Channels(output.pixel_format) != 0 && Coin();
    output.chroma_upsampling = static_cast<ChromaUpsampling>(Between(0, 1));
    return output;
  }

  uint32_t Seed() { return static_cast<uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

// Calls expect(output, source, frame) for `count` random conversions of small pictures in these
// formats.
template <size_t num_formats, typename Expect>
void ForDrawnConversions(uint32_t seed, const AVPixelFormat (&formats)[num_formats], int count,
                         Expect expect) {
  Draw draw(seed);
  for (int converted = 0; converted < count;) {
    const AVPixelFormat format = formats[draw.Between(0, static_cast<int>(num_formats) - 1)];
    const bool wide = draw.Between(0, 9) == 0;
    const int width = draw.Between(1, wide ? 150 : 40), height = draw.Between(1, wide ? 60 : 40);
    const Orientation orientation = {draw.Coin(), draw.Coin(), draw.Coin()};
    OutputSpec output =
        draw.Output(orientation.turned ? width : height, orientation.turned ? height : width);
    if (!output.Validate().ok()) continue;
    TestFrame frame(format, width, height, draw.Seed(), 3 * draw.Between(0, 2));
    frame.frame().color_range = static_cast<AVColorRange>(draw.Between(0, 2));
    frame.frame().colorspace = draw.Coin() ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    frame.frame().chroma_location = static_cast<AVChromaLocation>(draw.Between(0, 6));
    expect(output, SourceSpec::Of(frame.frame(), orientation), frame.frame());
    ++converted;
  }
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_CONVERT_DRAW_H_
