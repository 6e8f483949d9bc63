// The YUV <-> RGB equations of ITU-T H.273 and the guess made for streams that carry no tags.
#ifndef TF_NVCODEC_CORE_FORMAT_COLOR_H_
#define TF_NVCODEC_CORE_FORMAT_COLOR_H_

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/format/frame_format.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {

// R'G'B' = matrix * (Y' - luma_offset, Cb - chroma_offset, Cr - chroma_offset), all in code values
// of the source's bit depth, scaled so that RGB is in [0, 1].
struct YuvToRgb {
  double matrix[3][3];
  double luma_offset, chroma_offset;
};

// The inverse: (Y', Cb, Cr) = matrix * (R', G', B') + offset, in code values of `bit_depth`.
struct RgbToYuv {
  double matrix[3][3];
  double offset[3];
};

// Kr and Kb of H.273's table 4; Kg is 1 - Kr - Kb.
struct LumaWeights {
  double kr, kb;
};
LumaWeights LumaWeightsOf(ColorSpace space);

// H.273, 8.3. Limited range: luma 16 to 235 and chroma 128 +- 112, times 2^(bit_depth - 8). Full
// range: luma 0 to 2^bit_depth - 1, chroma +- half of that around 2^(bit_depth - 1).
YuvToRgb MakeYuvToRgb(const LumaWeights& weights, ColorRange range, int bit_depth);
YuvToRgb MakeYuvToRgb(ColorSpace space, ColorRange range, int bit_depth);
RgbToYuv MakeRgbToYuv(const LumaWeights& weights, ColorRange range, int bit_depth);
RgbToYuv MakeRgbToYuv(ColorSpace space, ColorRange range, int bit_depth);

// The stream's own tag, else the guess every player makes: BT.2020 is never guessed; BT.709 when
// the stored width is at least 1280 or the height above 576, else BT.601. Tags outside the three
// give the nearest of them, for display; ResolveLumaWeights has their exact weights.
ColorSpace ResolveColorSpace(AVColorSpace tag, int width, int height);
// The same choice as weights, exact for FCC and SMPTE 240M too. Unimplemented for matrices that
// Kr and Kb don't describe (YCgCo, ICtCp, constant luminance, chromaticity-derived).
absl::StatusOr<LumaWeights> ResolveLumaWeights(AVColorSpace tag, int width, int height);
// The stream's own tag, else full for the yuvj formats, gray and RGB, else limited.
ColorRange ResolveColorRange(AVColorRange tag, AVPixelFormat format);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FORMAT_COLOR_H_
