// What the ops that decode a batch of clips share. A kernel reads its inputs, and this class
// decodes.
#ifndef TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_OP_H_
#define TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_OP_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/kernels/decode/clip_batch.h"

namespace nvc {

// Input 0 is [B], the bytes of a row each. The outputs are the frames, pts, mask and status.
class ClipBatchOp : public ::tensorflow::OpKernel {
 public:
  explicit ClipBatchOp(::tensorflow::OpKernelConstruction* context);

  // Decoding takes long; see DecodeOp.
  bool IsExpensive() final { return true; }

  void Compute(::tensorflow::OpKernelContext* context) final;

 protected:
  // Fills in what the inputs say.
  virtual absl::Status ReadInputs(::tensorflow::OpKernelContext* context,
                                  ClipBatchArguments* arguments) const = 0;

  ClipBatchArguments arguments_;  // what the attributes say

 private:
  absl::Status Decode(::tensorflow::OpKernelContext* context) const;

  const bool on_gpu_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_CLIP_BATCH_OP_H_
