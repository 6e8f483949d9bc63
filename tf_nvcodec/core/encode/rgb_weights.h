// The equations of frames on their way to a stream as the constants that the row kernels take.
#ifndef TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_
#define TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_

#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/core/rows/rgb_rows.h"

namespace nvc {

// The sample of white.
float WhiteOf(SampleType type);

// Row `component` (0 luma, 1 Cb, 2 Cr) of the matrix for channels whose white is `peak`.
FloatWeights MakeFloatWeights(const RgbToYuv& matrix, int component, float peak, int bit_depth);
// Luma of a gray sample.
FloatWeights MakeGrayWeights(const RgbToYuv& matrix, float peak, int bit_depth);
// A channel at another depth.
FloatWeights MakeIdentityWeights(float peak, int bit_depth);

// Code values of Y'CbCr at another depth (H.273, 8.3): limited range shifts, full range stretches.
FloatWeights MakeDepthWeights(ColorRange range, bool chroma, int from, int to);

// For 8-bit channels and an 8-bit result.
FixedLuma MakeFixedLuma(const RgbToYuv& matrix);
FixedChroma MakeFixedChroma(const RgbToYuv& matrix, int component);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_RGB_WEIGHTS_H_
