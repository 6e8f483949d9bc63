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
  // Reads what each clip has of its own.
  static absl::Status ReadRows(OpKernelContext* context, int64_t rows,
                               ClipBatchArguments* arguments) {
    const Tensor &crops = context->input(3), &flips = context->input(4);
    if (crops.dims() != 2 || crops.dim_size(1) != 4 ||
        (crops.dim_size(0) != 0 && crops.dim_size(0) != rows)) {
      return absl::InvalidArgumentError(
          absl::StrCat("crop must be one of 4 integers, or have a row of 4 for each of the ", rows,
                       " clips; got shape ", crops.shape().DebugString()));
    }
    if (flips.dims() != 1 || (flips.dim_size(0) != 0 && flips.dim_size(0) != rows)) {
      return absl::InvalidArgumentError(absl::StrCat("flip must have one value for each of the ",
                                                     rows, " clips; got shape ",
                                                     flips.shape().DebugString()));
    }
    const auto sides = crops.matrix<int32_t>();
    for (int64_t i = 0; i < crops.dim_size(0); ++i) {
      arguments->crops.push_back({sides(i, 0), sides(i, 1), sides(i, 2), sides(i, 3)});
    }
    const auto flipped = flips.vec<bool>();
    arguments->flips.assign(flipped.data(), flipped.data() + flips.dim_size(0));
    return absl::OkStatus();
  }

  absl::Status ReadInputs(OpKernelContext* context, ClipBatchArguments* arguments) const override {
    const Tensor& packets = context->input(0);
    if (packets.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("packets must be a vector of strings, a clip each; got shape ",
                       packets.shape().DebugString(), ": batch the dataset"));
    }
    NVC_RETURN_IF_ERROR(ReadGeometry(context, 1, 2, &arguments->decode.output));
    NVC_RETURN_IF_ERROR(arguments->decode.output.Validate());
    NVC_RETURN_IF_ERROR(ReadRows(context, packets.dim_size(0), arguments));
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
                            .HostMemory("crops")
                            .HostMemory("flips")
                            .HostMemory("pts")
                            .HostMemory("mask")
                            .HostMemory("status"),
                        DecodePacketsOp);

}  // namespace
}  // namespace nvc
