#include "tf_nvcodec/core/format/color.h"

#include "absl/strings/str_cat.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// The code values of luma 0 and of chroma 0, and the spans of luma 0 to 1 and of chroma -0.5 to
// 0.5.
struct Quantization {
  double luma_offset, luma_span, chroma_offset, chroma_span;
};

Quantization MakeQuantization(ColorRange range, int bit_depth) {
  const double unit = static_cast<double>(1 << bit_depth) / 256;
  const double peak = static_cast<double>((1 << bit_depth) - 1);
  const double middle = 128 * unit;
  if (range == ColorRange::kFull) return {0, peak, middle, peak};
  return {16 * unit, 219 * unit, middle, 224 * unit};
}

bool IsBt709Sized(int width, int height) { return width >= 1280 || height > 576; }

}  // namespace

LumaWeights LumaWeightsOf(ColorSpace space) {
  switch (space) {
    case ColorSpace::kBt601:
      return {0.299, 0.114};
    case ColorSpace::kBt709:
      return {0.2126, 0.0722};
    case ColorSpace::kBt2020:
      return {0.2627, 0.0593};
  }
  return {0.299, 0.114};
}

YuvToRgb MakeYuvToRgb(const LumaWeights& weights, ColorRange range, int bit_depth) {
  const double kr = weights.kr, kb = weights.kb, kg = 1 - kr - kb;
  const Quantization q = MakeQuantization(range, bit_depth);
  const double y = 1 / q.luma_span;
  const double cr_to_r = 2 * (1 - kr) / q.chroma_span;
  const double cb_to_b = 2 * (1 - kb) / q.chroma_span;
  return {{{y, 0, cr_to_r}, {y, -cb_to_b * kb / kg, -cr_to_r * kr / kg}, {y, cb_to_b, 0}},
          q.luma_offset,
          q.chroma_offset};
}

RgbToYuv MakeRgbToYuv(const LumaWeights& weights, ColorRange range, int bit_depth) {
  const double kr = weights.kr, kb = weights.kb, kg = 1 - kr - kb;
  const Quantization q = MakeQuantization(range, bit_depth);
  const double y = q.luma_span;
  const double cb = q.chroma_span / (2 * (1 - kb));
  const double cr = q.chroma_span / (2 * (1 - kr));
  return {{{kr * y, kg * y, kb * y},
           {-kr * cb, -kg * cb, (1 - kb) * cb},
           {(1 - kr) * cr, -kg * cr, -kb * cr}},
          {q.luma_offset, q.chroma_offset, q.chroma_offset}};
}

YuvToRgb MakeYuvToRgb(ColorSpace space, ColorRange range, int bit_depth) {
  return MakeYuvToRgb(LumaWeightsOf(space), range, bit_depth);
}

RgbToYuv MakeRgbToYuv(ColorSpace space, ColorRange range, int bit_depth) {
  return MakeRgbToYuv(LumaWeightsOf(space), range, bit_depth);
}

ColorSpace ResolveColorSpace(AVColorSpace tag, int width, int height) {
  switch (tag) {
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_SMPTE240M:
      return ColorSpace::kBt709;
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return ColorSpace::kBt601;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return ColorSpace::kBt2020;
    default:
      return IsBt709Sized(width, height) ? ColorSpace::kBt709 : ColorSpace::kBt601;
  }
}

absl::StatusOr<LumaWeights> ResolveLumaWeights(AVColorSpace tag, int width, int height) {
  switch (tag) {
    case AVCOL_SPC_FCC:
      return LumaWeights{0.30, 0.11};
    case AVCOL_SPC_SMPTE240M:
      return LumaWeights{0.212, 0.087};
    case AVCOL_SPC_RGB:
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_UNSPECIFIED:
    case AVCOL_SPC_RESERVED:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_BT2020_NCL:
      return LumaWeightsOf(ResolveColorSpace(tag, width, height));
    default: {
      const char* name = av_color_space_name(tag);
      return absl::UnimplementedError(absl::StrCat(
          "the stream's colour matrix ", name != nullptr ? name : absl::StrCat(tag),
          " has no conversion to RGB here; pass color_space (bt601, bt709 or bt2020) to read it "
          "as that one, or ask for pixel_format native"));
    }
  }
}

ColorRange ResolveColorRange(AVColorRange tag, AVPixelFormat format) {
  if (tag == AVCOL_RANGE_JPEG) return ColorRange::kFull;
  if (tag == AVCOL_RANGE_MPEG) return ColorRange::kLimited;
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ444P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ411P:
      return ColorRange::kFull;
    default:
      break;
  }
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (descriptor == nullptr) return ColorRange::kLimited;
  const bool gray = descriptor->nb_components <= 2;
  const bool rgb = (descriptor->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  return gray || rgb ? ColorRange::kFull : ColorRange::kLimited;
}

}  // namespace nvc
