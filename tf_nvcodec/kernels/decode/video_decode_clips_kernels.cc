#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/kernels/decode/clip_attributes.h"
#include "tf_nvcodec/kernels/decode/clip_batch_op.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

class DecodeClipsOp : public ClipBatchOp {
 public:
  explicit DecodeClipsOp(OpKernelConstruction* context) : ClipBatchOp(context) {
    OP_REQUIRES_OK(context, ReadClipAttributes(context, &arguments_.clips));
    float center_crop = 0;
    OP_REQUIRES_OK(context, context->GetAttr("center_crop", &center_crop));
    OP_REQUIRES(context, center_crop >= 0 && center_crop <= 1,
                absl::InvalidArgumentError(
                    absl::StrCat("center_crop must be above 0 and at most 1, got ", center_crop)));
    arguments_.center_crop = center_crop;
  }

 private:
  absl::Status ReadInputs(OpKernelContext* context, ClipBatchArguments* arguments) const override {
    const Tensor& contents = context->input(0);
    if (contents.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("contents must be a vector of strings, a video each; got shape ",
                       contents.shape().DebugString()));
    }
    int64_t seed = 0;
    NVC_RETURN_IF_ERROR(ReadScalar(context, 1, "period", &arguments->clips.period));
    NVC_RETURN_IF_ERROR(ReadScalar(context, 2, "seed", &seed));
    arguments->seed = static_cast<uint64_t>(seed);
    OutputSpec& output = arguments->decode.output;
    NVC_RETURN_IF_ERROR(ReadGeometry(context, 3, 4, &output));
    if (arguments->center_crop > 0 && (output.height == 0 || output.crop.has_value())) {
      return absl::InvalidArgumentError(
          "center_crop cuts the frame to the shape of size: pass size, and no crop");
    }
    NVC_RETURN_IF_ERROR(output.Validate());
    return arguments->clips.Validate();
  }
};

REGISTER_KERNEL_BUILDER(Name("VideoDecodeClips").Device(::tensorflow::DEVICE_CPU), DecodeClipsOp);
// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoDecodeClips")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("contents")
                            .HostMemory("period")
                            .HostMemory("seed")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("pts")
                            .HostMemory("mask")
                            .HostMemory("status"),
                        DecodeClipsOp);

}  // namespace
}  // namespace nvc
