#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace nvc {

using ::tensorflow::shape_inference::InferenceContext;

namespace {

absl::Status WordsAndScalars(InferenceContext* c) {
  c->set_output(0, c->Vector(2));
  for (int i = 1; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
  return absl::OkStatus();
}

absl::Status UnknownShape(InferenceContext* c) {
  c->set_output(0, c->UnknownShape());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("NvcDlpackImport")
    .Input("managed: int64")
    .Output("tensor: dtype")
    .Attr("dtype: type")
    .SetIsStateful()
    .SetShapeFn(UnknownShape)
    .Doc(R"doc(
Takes over what a DLPack capsule points at; python/dlpack.py alone calls it.

managed: Scalar, address of a DLManagedTensor whose memory is on the op's device. It is the op's
  once it succeeds.
tensor: The same memory, or a copy where it is not aligned as TensorFlow's kernels need it.
)doc");

REGISTER_OP("NvcDlpackExport")
    .Input("tensor: T")
    .Input("stream: int64")
    .Output("managed: int32")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(WordsAndScalars)
    .Doc(R"doc(
Shares a tensor's memory by DLPack; python/dlpack.py alone calls it.

stream: Scalar, the CUDA stream that will use it, which then waits for the tensor: 1 the legacy
  default stream, 2 the per-thread one, -1 none is to wait, else a handle. Of no use on the CPU.
managed: The lower and the upper half of the address of a new DLManagedTensor; its deleter frees it.
  TensorFlow copies an int64 to the GPU, behind the work of its stream, and the host waits for that.
)doc");

REGISTER_OP("NvcStream")
    .Input("wait_for: int64")
    .Output("stream: int32")
    .Output("gpu: int32")
    .SetIsStateful()
    .SetShapeFn(WordsAndScalars)
    .Doc(R"doc(
The stream that TensorFlow computes on.

wait_for: Scalar, a CUDA stream, as NvcDlpackExport's, for which that one is to wait; -1: none.
stream: The lower and the upper half of its number; 0 on the CPU.
gpu: Scalar, the device's number among the GPUs that CUDA shows; -1 on the CPU.
)doc");

}  // namespace nvc
