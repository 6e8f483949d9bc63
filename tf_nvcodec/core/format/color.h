// Makes the YUV <-> RGB equations of ITU-T H.273, and guesses the colour space of untagged streams.
#ifndef TF_NVCODEC_CORE_FORMAT_COLOR_H_
#define TF_NVCODEC_CORE_FORMAT_COLOR_H_

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {

// R'G'B' = matrix * (Y' - luma_offset, Cb - chroma_offset, Cr - chroma_offset). Y', Cb and Cr are
// code values of the source's bit depth; R', G' and B' are in [0, 1].
struct YuvToRgb {
  double matrix[3][3];
  double luma_offset, chroma_offset;
};

// The inverse: (Y', Cb, Cr) = matrix * (R', G', B') + offset, in code values of `bit_depth`.
struct RgbToYuv {
  double matrix[3][3];
  double offset[3];
};

// Kr and Kb of H.273's table 4. Kg is 1 - Kr - Kb.
struct LumaWeights {
  double kr, kb;
};
LumaWeights LumaWeightsOf(ColorSpace space);

// Make the equations of H.273, 8.3. In limited range, luma is 16 to 235 and chroma 128 +- 112,
// times 2^(bit_depth - 8). In full range, luma is 0 to 2^bit_depth - 1, and chroma is +- half of
// that around 2^(bit_depth - 1).
YuvToRgb MakeYuvToRgb(const LumaWeights& weights, ColorRange range, int bit_depth);
YuvToRgb MakeYuvToRgb(ColorSpace space, ColorRange range, int bit_depth);
RgbToYuv MakeRgbToYuv(const LumaWeights& weights, ColorRange range, int bit_depth);
RgbToYuv MakeRgbToYuv(ColorSpace space, ColorRange range, int bit_depth);

// Returns the colour space of the stream's own tag. For FCC, SMPTE 240M and constant-luminance
// BT.2020 it returns the nearest of the three spaces, for display; ResolveLumaWeights has the exact
// weights. For other tags, and without a tag, it makes the guess that every player makes: BT.709
// when the stored width is at least 1280 or the height above 576, else BT.601, and never BT.2020.
ColorSpace ResolveColorSpace(AVColorSpace tag, int width, int height);
// Makes the same choice and returns its weights, also exact for FCC and SMPTE 240M. Returns
// Unimplemented for matrices that Kr and Kb do not describe (YCgCo, ICtCp, constant luminance,
// chromaticity-derived).
absl::StatusOr<LumaWeights> ResolveLumaWeights(AVColorSpace tag, int width, int height);
// Returns the range of the stream's own tag. An untagged stream has full range if its format is
// gray, RGB or one of the yuvj formats, else limited range.
ColorRange ResolveColorRange(AVColorRange tag, AVPixelFormat format);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_COLOR_H_
