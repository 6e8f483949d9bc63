// Reads the attributes that all encoding ops share.
#ifndef TF_NVCODEC_KERNELS_ENCODE_ENCODE_ATTRIBUTES_H_
#define TF_NVCODEC_KERNELS_ENCODE_ENCODE_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/format/frame_format.h"
#include "tf_nvcodec/nv/encode/encode_backend.h"

namespace nvc {

struct EncodeAttributes {
  PixelFormat input_format = PixelFormat::kRgb;
  SampleType sample_type = SampleType::kUint8;
  EncodeBackend backend = EncodeBackend::kAuto;
  EncodeOptions options;

  // Returns InvalidArgument if the codec or the container does not support a value.
  absl::Status Read(::tensorflow::OpKernelConstruction* context);
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_ENCODE_ENCODE_ATTRIBUTES_H_
