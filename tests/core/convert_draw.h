// Draws output specs at random from everything that can be asked for.
#ifndef TF_NVCODEC_TESTS_CORE_CONVERT_DRAW_H_
#define TF_NVCODEC_TESTS_CORE_CONVERT_DRAW_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "tf_nvcodec/core/frame_format.h"

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
    output.chroma_upsampling = static_cast<ChromaUpsampling>(Between(0, 1));
    return output;
  }

  uint32_t Seed() { return static_cast<uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_CONVERT_DRAW_H_
