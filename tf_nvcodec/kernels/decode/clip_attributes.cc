#include "tf_nvcodec/kernels/decode/clip_attributes.h"

#include <string>

#include "tf_nvcodec/core/base/status.h"

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

}  // namespace nvc
