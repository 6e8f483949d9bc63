// Infers the shape of decoded frames.
#ifndef TF_NVCODEC_OPS_FRAME_DIMS_H_
#define TF_NVCODEC_OPS_FRAME_DIMS_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace nvc {

// Puts [H, W, C], [C, H, W] or [bytes] into `dims`, as far as the decoding attributes and constant
// inputs tell. `size_input` and `crop_input` are the numbers of the inputs size and crop.
absl::Status FrameDims(::tensorflow::shape_inference::InferenceContext* c, int size_input,
                       int crop_input,
                       std::vector<::tensorflow::shape_inference::DimensionHandle>* dims);

}  // namespace nvc

#endif  // TF_NVCODEC_OPS_FRAME_DIMS_H_
