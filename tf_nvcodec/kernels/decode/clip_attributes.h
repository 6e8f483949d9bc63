// Reads the attributes and inputs of ops that say which frames make up a clip.
#ifndef TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_
#define TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/clips/clip_spec.h"

namespace nvc {

// Fills `clips`. Returns InvalidArgument, which names the attribute, if a value is out of range.
absl::Status ReadClipAttributes(::tensorflow::OpKernelConstruction* context, ClipSpec* clips);

// Reads the segments of `videos` [N]. Their shape is [N, 2], or [0, 2] for whole videos, which
// gives none. Returns InvalidArgument that names the video, if its name is a file's, and its
// segment.
absl::Status ReadSegments(const ::tensorflow::Tensor& tensor, const ::tensorflow::Tensor& videos,
                          bool names_are_files, std::vector<TimeSegment>* segments);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_CLIP_ATTRIBUTES_H_
