// Computes the constants that the row kernels use to convert frames for a stream.
#ifndef TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_
#define TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_

#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/core/rows/rgb_rows.h"

namespace nvc {

// Returns the value of a white sample.
float WhiteOf(SampleType type);

// Returns row `component` (0 luma, 1 Cb, 2 Cr) of the matrix, for channels in which white is
// `peak`.
FloatWeights MakeFloatWeights(const RgbToYuv& matrix, int component, float peak, int bit_depth);
// Returns the weights for the luma of a gray sample.
FloatWeights MakeGrayWeights(const RgbToYuv& matrix, float peak, int bit_depth);
// Returns the weights that convert a channel to another bit depth.
FloatWeights MakeIdentityWeights(float peak, int bit_depth);

// For 8-bit channels and an 8-bit result.
FixedLuma MakeFixedLuma(const RgbToYuv& matrix);
FixedChroma MakeFixedChroma(const RgbToYuv& matrix, int component);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_
