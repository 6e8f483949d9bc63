// Reads the op attributes that say which frames make up a clip.
#ifndef TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_
#define TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/clips/clip_spec.h"

namespace nvc {

// Fills `clips`. Returns InvalidArgument, which names the attribute, if a value is out of range.
absl::Status ReadClipAttributes(::tensorflow::OpKernelConstruction* context, ClipSpec* clips);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_
