#include "tf_nvcodec/core/format/frame_format.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

template <typename T>
struct Named {
  T value;
  const char* name;
};

constexpr Named<PixelFormat> kPixelFormats[] = {
    {PixelFormat::kNative, "native"},   {PixelFormat::kRgb, "rgb"},
    {PixelFormat::kBgr, "bgr"},         {PixelFormat::kGray, "gray"},
    {PixelFormat::kNv12, "nv12"},       {PixelFormat::kYuv420p, "yuv420p"},
    {PixelFormat::kYuv444p, "yuv444p"}, {PixelFormat::kP010, "p010"},
};
constexpr Named<SampleType> kSampleTypes[] = {
    {SampleType::kUint8, "uint8"},
    {SampleType::kUint16, "uint16"},
    {SampleType::kFloat16, "float16"},
    {SampleType::kFloat32, "float32"},
};
constexpr Named<Layout> kLayouts[] = {{Layout::kThwc, "thwc"}, {Layout::kTchw, "tchw"}};
constexpr Named<ResizeMethod> kResizeMethods[] = {
    {ResizeMethod::kNearest, "nearest"},   {ResizeMethod::kBilinear, "bilinear"},
    {ResizeMethod::kBicubic, "bicubic"},   {ResizeMethod::kArea, "area"},
    {ResizeMethod::kLanczos3, "lanczos3"},
};
constexpr Named<ChromaUpsampling> kChromaUpsamplings[] = {
    {ChromaUpsampling::kNearest, "nearest"},
    {ChromaUpsampling::kBilinear, "bilinear"},
};
constexpr Named<Deinterlace> kDeinterlaces[] = {
    {Deinterlace::kNone, "none"},
    {Deinterlace::kBob, "bob"},
};
constexpr Named<ColorSpace> kColorSpaces[] = {
    {ColorSpace::kBt601, "bt601"},
    {ColorSpace::kBt709, "bt709"},
    {ColorSpace::kBt2020, "bt2020"},
};
constexpr Named<ColorRange> kColorRanges[] = {
    {ColorRange::kLimited, "limited"},
    {ColorRange::kFull, "full"},
};

template <typename T, size_t kCount>
absl::StatusOr<T> Parse(absl::string_view argument, const Named<T> (&table)[kCount],
                        absl::string_view name) {
  std::string allowed;
  for (const Named<T>& entry : table) {
    if (name == entry.name) return entry.value;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", entry.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(argument, " must be one of ", allowed, "; got \"", name, "\""));
}

template <typename T, size_t kCount>
absl::string_view NameIn(const Named<T> (&table)[kCount], T value) {
  for (const Named<T>& entry : table) {
    if (value == entry.value) return entry.name;
  }
  return "unknown";
}

bool IsFloat(SampleType type) {
  return type == SampleType::kFloat16 || type == SampleType::kFloat32;
}

absl::Status CheckEven(absl::string_view what, int value, PixelFormat format) {
  if (value % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be a multiple of 2 for pixel_format \"", Name(format),
                   "\", whose chroma planes have half the size; got ", value));
}

}  // namespace

absl::StatusOr<PixelFormat> ParsePixelFormat(absl::string_view name) {
  return Parse("pixel_format", kPixelFormats, name);
}
absl::StatusOr<Layout> ParseLayout(absl::string_view name) {
  return Parse("layout", kLayouts, name);
}
absl::StatusOr<ResizeMethod> ParseResizeMethod(absl::string_view name) {
  return Parse("resize_method", kResizeMethods, name);
}
absl::StatusOr<ChromaUpsampling> ParseChromaUpsampling(absl::string_view name) {
  return Parse("chroma_upsampling", kChromaUpsamplings, name);
}
absl::StatusOr<Deinterlace> ParseDeinterlace(absl::string_view name) {
  return Parse("deinterlace", kDeinterlaces, name);
}
absl::StatusOr<ColorSpace> ParseColorSpace(absl::string_view name) {
  return Parse("color_space", kColorSpaces, name);
}
absl::StatusOr<ColorRange> ParseColorRange(absl::string_view name) {
  return Parse("color_range", kColorRanges, name);
}

absl::string_view Name(PixelFormat format) { return NameIn(kPixelFormats, format); }
absl::string_view Name(SampleType type) { return NameIn(kSampleTypes, type); }
absl::string_view Name(ColorSpace space) { return NameIn(kColorSpaces, space); }
absl::string_view Name(ColorRange range) { return NameIn(kColorRanges, range); }

size_t SampleSize(SampleType type) {
  switch (type) {
    case SampleType::kUint8:
      return 1;
    case SampleType::kUint16:
    case SampleType::kFloat16:
      return 2;
    case SampleType::kFloat32:
      return 4;
  }
  return 0;
}

int Channels(PixelFormat format) {
  switch (format) {
    case PixelFormat::kRgb:
    case PixelFormat::kBgr:
      return 3;
    case PixelFormat::kGray:
      return 1;
    default:
      return 0;
  }
}

YuvLayout YuvLayoutOf(PixelFormat format) {
  switch (format) {
    case PixelFormat::kNv12:
      return {1, 1, true, 8, 0};
    case PixelFormat::kP010:
      return {1, 1, true, 10, 6};
    case PixelFormat::kYuv444p:
      return {0, 0, false, 8, 0};
    default:
      return {1, 1, false, 8, 0};
  }
}

absl::Status OutputSpec::Validate() const {
  const bool packed = Channels(pixel_format) == 0;
  const bool resized = height != 0 || width != 0 || short_side != 0;
  if (short_side != 0 && (height != 0 || width != 0 || packed)) {
    return absl::InvalidArgumentError(
        "an integer size, the shorter side, takes pixel_format=\"rgb\", \"bgr\" or \"gray\"");
  }
  if (resized && short_side <= 0 && (height <= 0 || width <= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("size must be two positive numbers (height, width), or absent; got (", height,
                     ", ", width, ")"));
  }
  if (height > kMaxSide || width > kMaxSide || short_side > kMaxSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("size must be at most ", kMaxSide, " on each side; got (",
                     std::max(height, short_side), ", ", std::max(width, short_side), ")"));
  }
  if (crop.has_value() &&
      (crop->top < 0 || crop->left < 0 || crop->height <= 0 || crop->width <= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "crop must be (top, left, height, width) with top and left at least 0 and height and "
        "width at least 1; got (",
        crop->top, ", ", crop->left, ", ", crop->height, ", ", crop->width, ")"));
  }
  if (packed && sample_type != SampleType::kUint8) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype ", Name(sample_type), " needs pixel_format rgb, bgr or gray: \"",
                     Name(pixel_format), "\" frames are packed bytes, dtype uint8"));
  }
  if (packed && layout != Layout::kThwc) {
    return absl::InvalidArgumentError(
        absl::StrCat("layout tchw needs pixel_format rgb, bgr or gray: \"", Name(pixel_format),
                     "\" frames are packed bytes without a channel axis"));
  }
  if (flip && packed) {
    return absl::InvalidArgumentError("flip takes pixel_format=\"rgb\", \"bgr\" or \"gray\"");
  }
  if (pixel_format == PixelFormat::kNative && (resized || crop.has_value())) {
    return absl::InvalidArgumentError(
        absl::StrCat("pixel_format \"native\" gives frames as they are stored and takes no ",
                     resized ? "size" : "crop", "; ask for yuv420p, nv12, yuv444p or rgb"));
  }
  if (pixel_format == PixelFormat::kNv12 || pixel_format == PixelFormat::kYuv420p ||
      pixel_format == PixelFormat::kP010) {
    absl::Status status = CheckEven("size's height", height, pixel_format);
    status.Update(CheckEven("size's width", width, pixel_format));
    if (crop.has_value()) {
      status.Update(CheckEven("crop's top", crop->top, pixel_format));
      status.Update(CheckEven("crop's left", crop->left, pixel_format));
      status.Update(CheckEven("crop's height", crop->height, pixel_format));
      status.Update(CheckEven("crop's width", crop->width, pixel_format));
    }
    if (!status.ok()) return status;
  }
  const bool normalized =
      mean != std::array<float, 3>{0, 0, 0} || std_dev != std::array<float, 3>{1, 1, 1};
  if (normalized && !IsFloat(sample_type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mean and std need dtype float16 or float32; got dtype ", Name(sample_type)));
  }
  for (int c = 0; c < 3; ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(std_dev[c]) || std_dev[c] == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("mean must be finite and std finite and not 0; got mean ", mean[c],
                       " and std ", std_dev[c], " for channel ", c));
    }
  }
  return absl::OkStatus();
}

}  // namespace nvc
