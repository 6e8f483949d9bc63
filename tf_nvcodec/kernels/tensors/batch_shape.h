// Computes the shape of a tensor that holds a batch of frames, and checks its size in bytes.
#ifndef TF_NVCODEC_KERNELS_TENSORS_BATCH_SHAPE_H_
#define TF_NVCODEC_KERNELS_TENSORS_BATCH_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_nvcodec/core/convert/frame_converter.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

inline ::tensorflow::TensorShape BatchShape(const OutputSpec& output, const FrameShape& frame,
                                            int64_t count) {
  if (frame.channels == 0) {
    return ::tensorflow::TensorShape({count, static_cast<int64_t>(frame.bytes)});
  }
  if (output.layout == Layout::kTchw) {
    return ::tensorflow::TensorShape({count, frame.channels, frame.height, frame.width});
  }
  return ::tensorflow::TensorShape({count, frame.height, frame.width, frame.channels});
}

// Returns ResourceExhausted if `count` frames take more than `max_bytes` (0 means no limit).
inline absl::Status CheckBatchBytes(const FrameShape& frame, int64_t count, int64_t max_bytes) {
  const double bytes = static_cast<double>(frame.bytes) * static_cast<double>(count);
  if (max_bytes == 0 || bytes <= static_cast<double>(max_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " frames of ", frame.bytes, " bytes are more than max_bytes, ", max_bytes,
                   "; decode the video in ranges, pass a size, or raise max_bytes"));
}

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_TENSORS_BATCH_SHAPE_H_
