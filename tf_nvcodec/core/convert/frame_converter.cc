#include "tf_nvcodec/core/convert/frame_converter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/convert/deinterlace.h"
#include "tf_nvcodec/core/convert/image_converters.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

absl::string_view FormatName(AVPixelFormat format) {
  const char* name = av_get_pix_fmt_name(format);
  return name != nullptr ? name : "unknown";
}

class NativeConverter : public FrameConverter {
 public:
  NativeConverter(const SourceSpec& source, const FrameShape& shape)
      : FrameConverter(source, shape) {}

  absl::Status Convert(const AVFrame& frame, void* out) override {
    NVC_RETURN_IF_ERROR(CheckFrame(frame, source()));
    const int written = av_image_copy_to_buffer(
        static_cast<uint8_t*>(out), static_cast<int>(shape().bytes), frame.data, frame.linesize,
        source().format, source().width, source().height, /*align=*/1);
    if (written < 0) return FfmpegError(written, "packing a frame");
    return absl::OkStatus();
  }
};

}  // namespace

SourceSpec SourceSpec::Of(const AVFrame& frame, Orientation orientation) {
  SourceSpec spec;
  spec.width = frame.width;
  spec.height = frame.height;
  spec.format = static_cast<AVPixelFormat>(frame.format);
  spec.color_space = frame.colorspace;
  spec.color_range = frame.color_range;
  spec.chroma_location = frame.chroma_location;
  spec.orientation = orientation;
  return spec;
}

bool SourceSpec::operator==(const SourceSpec& other) const {
  return width == other.width && height == other.height && format == other.format &&
         color_space == other.color_space && color_range == other.color_range &&
         chroma_location == other.chroma_location && orientation == other.orientation;
}

absl::Status CheckFrame(const AVFrame& frame, const SourceSpec& source) {
  if (frame.width != source.width || frame.height != source.height ||
      frame.format != source.format) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", frame.width, "x", frame.height, " ",
                     FormatName(static_cast<AVPixelFormat>(frame.format)),
                     " frame was given to a converter made for ", source.width, "x", source.height,
                     " ", FormatName(source.format)));
  }
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(source.format);
  const bool palette = (descriptor->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const int planes = palette ? 2 : av_pix_fmt_count_planes(source.format);
  for (int plane = 0; plane < planes; ++plane) {
    if (frame.data[plane] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the frame's plane ", plane, " is missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const OutputSpec& output, const SourceSpec& source) {
  NVC_RETURN_IF_ERROR(output.Validate());
  if (source.width <= 0 || source.height <= 0 ||
      av_image_check_size(source.width, source.height, 0, nullptr) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames have an impossible size, ", source.width, "x", source.height));
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameShape> MakeNativeShape(const SourceSpec& source) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(source.format);
  const int bytes =
      av_image_get_buffer_size(source.format, source.width, source.height, /*align=*/1);
  if (descriptor == nullptr || (descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL) != 0 || bytes <= 0) {
    return absl::UnimplementedError(
        absl::StrCat("frames stored as ", FormatName(source.format), " can't be packed as bytes"));
  }
  FrameShape shape;
  shape.height = source.height;
  shape.width = source.width;
  shape.bytes = static_cast<size_t>(bytes);
  return shape;
}

absl::StatusOr<ConversionPlan> MakeConversionPlan(const OutputSpec& output,
                                                  const SourceSpec& source) {
  NVC_RETURN_IF_ERROR(CheckReadable(source.format));
  ConversionPlan plan;
  plan.output = output;
  plan.source = source;
  NVC_ASSIGN_OR_RETURN(plan.geometry,
                       MakeGeometry(output, source.width, source.height, source.orientation));
  plan.model = ColorModelOf(source.format);
  plan.range = output.color_range.value_or(ResolveColorRange(source.color_range, source.format));
  const bool to_image = Channels(output.pixel_format) != 0;
  const bool to_gray = output.pixel_format == PixelFormat::kGray;
  const bool needs_matrix = plan.model == ColorModel::kRgb
                                ? to_gray || !to_image
                                : plan.model == ColorModel::kYuv && to_image && !to_gray;
  if (output.color_space.has_value()) {
    plan.weights = LumaWeightsOf(*output.color_space);
  } else if (needs_matrix) {
    NVC_ASSIGN_OR_RETURN(plan.weights,
                         ResolveLumaWeights(source.color_space, source.width, source.height));
  }
  return plan;
}

absl::StatusOr<std::unique_ptr<FrameConverter>> FrameConverter::Create(const OutputSpec& output,
                                                                       const SourceSpec& source) {
  NVC_RETURN_IF_ERROR(CheckRequest(output, source));
  std::unique_ptr<FrameConverter> converter;
  if (output.pixel_format == PixelFormat::kNative) {
    NVC_ASSIGN_OR_RETURN(const FrameShape shape, MakeNativeShape(source));
    converter = std::make_unique<NativeConverter>(source, shape);
  } else {
    NVC_ASSIGN_OR_RETURN(const ConversionPlan plan, MakeConversionPlan(output, source));
    converter =
        Channels(output.pixel_format) != 0 ? MakeImageConverter(plan) : MakeYuvConverter(plan);
  }
  if (output.deinterlace == Deinterlace::kNone) return converter;
  return NewBobConverter(std::move(converter));
}

}  // namespace nvc
