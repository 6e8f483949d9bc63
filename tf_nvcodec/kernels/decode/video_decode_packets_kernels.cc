#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/clips/packed_clip.h"
#include "tf_nvcodec/kernels/decode/clip_batch_op.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::tstring;

class DecodePacketsOp : public ClipBatchOp {
 public:
  explicit DecodePacketsOp(OpKernelConstruction* context) : ClipBatchOp(context) {
    arguments_.packed = true;
  }

 private:
  absl::Status ReadInputs(OpKernelContext* context, ClipBatchArguments* arguments) const override {
    const Tensor& packets = context->input(0);
    if (packets.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("packets must be a vector of strings, a clip each; got shape ",
                       packets.shape().DebugString(), ": batch the dataset"));
    }
    NVC_RETURN_IF_ERROR(ReadGeometry(context, 1, 2, &arguments->decode.output));
    NVC_RETURN_IF_ERROR(arguments->decode.output.Validate());
    // The first clip that is one tells how long all are. If none is, their rows have no frames.
    arguments->clips.length = 0;
    for (int64_t i = 0; i < packets.dim_size(0); ++i) {
      const auto length = PackedLength(packets.vec<tstring>()(i));
      if (!length.ok()) continue;
      arguments->clips.length = *length;
      break;
    }
    return absl::OkStatus();
  }
};

REGISTER_KERNEL_BUILDER(Name("VideoDecodePackets").Device(::tensorflow::DEVICE_CPU),
                        DecodePacketsOp);
// The frames are in GPU memory; all other inputs and outputs are in host memory.
REGISTER_KERNEL_BUILDER(Name("VideoDecodePackets")
                            .Device(::tensorflow::DEVICE_GPU)
                            .HostMemory("packets")
                            .HostMemory("size")
                            .HostMemory("crop")
                            .HostMemory("pts")
                            .HostMemory("mask")
                            .HostMemory("status"),
                        DecodePacketsOp);

}  // namespace
}  // namespace nvc
