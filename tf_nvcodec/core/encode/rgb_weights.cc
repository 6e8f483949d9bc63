#include "tf_nvcodec/core/encode/rgb_weights.h"

#include <cmath>

namespace nvc {
namespace {

float MaxCode(int bit_depth) { return static_cast<float>((1 << bit_depth) - 1); }

}  // namespace

float WhiteOf(SampleType type) {
  switch (type) {
    case SampleType::kUint8:
      return 255;
    case SampleType::kUint16:
      return 65535;
    default:
      return 1;
  }
}

FloatWeights MakeFloatWeights(const RgbToYuv& matrix, int component, float peak, int bit_depth) {
  FloatWeights weights = {};
  for (int c = 0; c < 3; ++c) {
    weights.weight[c] = static_cast<float>(matrix.matrix[component][c] / peak);
  }
  weights.offset = static_cast<float>(matrix.offset[component]);
  weights.max = MaxCode(bit_depth);
  return weights;
}

FloatWeights MakeGrayWeights(const RgbToYuv& matrix, float peak, int bit_depth) {
  const double* const luma = matrix.matrix[0];
  FloatWeights weights = {};
  weights.weight[0] = static_cast<float>((luma[0] + luma[1] + luma[2]) / peak);
  weights.offset = static_cast<float>(matrix.offset[0]);
  weights.max = MaxCode(bit_depth);
  return weights;
}

FloatWeights MakeIdentityWeights(float peak, int bit_depth) {
  FloatWeights weights = {};
  weights.weight[0] = MaxCode(bit_depth) / peak;
  weights.max = MaxCode(bit_depth);
  return weights;
}

FixedLuma MakeFixedLuma(const RgbToYuv& matrix) {
  const double* const row = matrix.matrix[0];
  // Channels are scaled by 256 and weights by 65536, so that the result is scaled by 256.
  const double scale = 65536.0 / 255;
  const long red = std::lround(row[0] * scale), blue = std::lround(row[2] * scale);
  // Green takes the rest of the sum, so that gray stays gray.
  const long green = std::lround((row[0] + row[1] + row[2]) * scale) - red - blue;
  FixedLuma luma = {};
  luma.weight[0] = static_cast<uint16_t>(red);
  luma.weight[1] = static_cast<uint16_t>(green);
  luma.weight[2] = static_cast<uint16_t>(blue);
  // A half for rounding, and about what truncating the three products loses.
  luma.offset = static_cast<uint16_t>(std::lround(matrix.offset[0] * 256 + 128 + 1));
  return luma;
}

FixedChroma MakeFixedChroma(const RgbToYuv& matrix, int component) {
  const double* const row = matrix.matrix[component];
  // Channels are scaled by 128 and weights by 65536, so that the result is scaled by 128. This
  // leaves one spare bit, because pure blue or red in full range rounds to 256 before it is
  // clipped.
  const double scale = 65536.0 / 255;
  FixedChroma chroma = {};
  chroma.up = component == 1 ? 2 : 0;
  chroma.down[0] = component == 1 ? 0 : 1;
  chroma.down[1] = component == 1 ? 1 : 2;
  const long up = std::lround(row[chroma.up] * scale);
  const long down = std::lround(-row[chroma.down[0]] * scale);
  chroma.up_weight = static_cast<uint16_t>(up);
  chroma.down_weight[0] = static_cast<uint16_t>(down);
  chroma.down_weight[1] = static_cast<uint16_t>(up - down);
  chroma.offset = static_cast<uint16_t>(std::lround(matrix.offset[component] * 128 + 64));
  return chroma;
}

}  // namespace nvc
