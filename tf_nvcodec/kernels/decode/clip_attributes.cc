#include "tf_nvcodec/kernels/decode/clip_attributes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/utf8_text.h"

namespace nvc {

absl::Status ReadClipAttributes(::tensorflow::OpKernelConstruction* context, ClipSpec* clips) {
  std::string sampling, pad;
  NVC_RETURN_IF_ERROR(context->GetAttr("clip_length", &clips->length));
  NVC_RETURN_IF_ERROR(context->GetAttr("stride", &clips->stride));
  if (context->HasAttr("clip_step")) {
    NVC_RETURN_IF_ERROR(context->GetAttr("clip_step", &clips->step));
  }
  NVC_RETURN_IF_ERROR(context->GetAttr("clips_per_video", &clips->clips_per_video));
  NVC_RETURN_IF_ERROR(context->GetAttr("sampling", &sampling));
  NVC_RETURN_IF_ERROR(context->GetAttr("pad", &pad));
  NVC_ASSIGN_OR_RETURN(clips->sampling, ParseClipSampling(sampling));
  NVC_ASSIGN_OR_RETURN(clips->pad, ParseClipPad(pad));
  return clips->Validate();
}

absl::Status ReadSegments(const ::tensorflow::Tensor& tensor, const ::tensorflow::Tensor& videos,
                          bool names_are_files, std::vector<TimeSegment>* segments) {
  const bool pairs = tensor.dims() == 2 && tensor.dim_size(1) == 2;
  const int64_t rows = pairs ? tensor.dim_size(0) : 0;
  if (!pairs || (rows > 0 && rows != videos.NumElements())) {
    return absl::InvalidArgumentError(
        absl::StrCat("segments must have a row (start, end) for each of the ", videos.NumElements(),
                     " videos, got shape ", tensor.shape().DebugString()));
  }
  const auto times = tensor.matrix<double>();
  for (int64_t i = 0; i < rows; ++i) {
    segments->push_back({times(i, 0), times(i, 1)});
    const absl::Status status = segments->back().Validate();
    if (status.ok()) continue;
    const std::string name(names_are_files ? videos.flat<::tensorflow::tstring>()(i) : "");
    return absl::InvalidArgumentError(Utf8Text(absl::StrCat(
        "segments[", i, "]", name.empty() ? "" : ", of " + name, ": ", status.message())));
  }
  return absl::OkStatus();
}

}  // namespace nvc
