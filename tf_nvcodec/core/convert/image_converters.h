// Makes the converters behind FrameConverter::Create, one for each kind of output.
#ifndef TF_NVCODEC_CORE_CONVERT_IMAGE_CONVERTERS_H_
#define TF_NVCODEC_CORE_CONVERT_IMAGE_CONVERTERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/convert/plane_reader.h"
#include "tf_nvcodec/core/format/color.h"
#include "tf_nvcodec/core/format/geometry.h"
#include "tf_nvcodec/core/rows/pack_rows.h"

namespace nvc {

// What FrameConverter::Create found out about the source. `weights` and `range` are resolved.
struct ConversionPlan {
  OutputSpec output;
  SourceSpec source;
  Geometry geometry;
  ColorModel model = ColorModel::kYuv;
  LumaWeights weights = {0, 0};
  ColorRange range = ColorRange::kLimited;
};

// The checks of FrameConverter::Create, in frame_converter.cc. CheckRequest is for every output.
// MakeConversionPlan is for outputs other than native, and also returns the plan. MakeNativeShape
// is for native outputs.
absl::Status CheckRequest(const OutputSpec& output, const SourceSpec& source);
absl::StatusOr<ConversionPlan> MakeConversionPlan(const OutputSpec& output,
                                                  const SourceSpec& source);
absl::StatusOr<FrameShape> MakeNativeShape(const SourceSpec& source);
// Returns the shape of rgb, bgr and gray outputs.
FrameShape MakeImageShape(const ConversionPlan& plan);

// Frames of at least this size are written past the caches, which a batch of them outgrows anyway.
// That leaves the caches to the decoder's pictures, and saves reading every line before it is
// overwritten.
constexpr size_t kStreamedBytes = 1 << 20;

// Makes the fastest converter for an rgb, bgr or gray output.
std::unique_ptr<FrameConverter> MakeImageConverter(const ConversionPlan& plan);
// Makes the converter for a Y'CbCr output.
std::unique_ptr<FrameConverter> MakeYuvConverter(const ConversionPlan& plan);

// Returns InvalidArgument when `frame` is not what the converter was made for.
absl::Status CheckFrame(const AVFrame& frame, const SourceSpec& source);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CONVERT_IMAGE_CONVERTERS_H_
