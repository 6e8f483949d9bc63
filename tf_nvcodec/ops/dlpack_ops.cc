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
Makes a tensor of the array that a DLPack capsule holds. Only python/dlpack.py uses this op.

managed: Scalar, the address of a DLManagedTensor whose memory is on the op's device. If the op
  succeeds, it owns the DLManagedTensor.
tensor: The same memory, or a copy if the memory is not aligned as TensorFlow's kernels need it.
)doc");

REGISTER_OP("NvcDlpackExport")
    .Input("tensor: T")
    .Input("stream: int64")
    .Output("managed: int32")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(WordsAndScalars)
    .Doc(R"doc(
Shares a tensor's memory by DLPack. Only python/dlpack.py uses this op.

stream: Scalar, the CUDA stream that will use the memory; it waits until the tensor is ready. 1 is
  the legacy default stream, 2 the per-thread default stream, -1 lets no stream wait, and any other
  value is a stream's handle. The CPU ignores it.
managed: The lower and the upper half of the address of a new DLManagedTensor, as two int32. Its
  deleter frees it. (An int64 would cost a wait: TensorFlow copies it to the GPU behind all work
  of the stream, and the host waits for this copy.)
)doc");

REGISTER_OP("NvcStream")
    .Input("wait_for: int64")
    .Output("stream: int32")
    .Output("gpu: int32")
    .SetIsStateful()
    .SetShapeFn(WordsAndScalars)
    .Doc(R"doc(
Returns the CUDA stream that TensorFlow computes on.

wait_for: Scalar, a CUDA stream, numbered as in NvcDlpackExport. TensorFlow's stream waits for it;
  -1 means that it waits for none.
stream: The lower and the upper half of the stream's number; 0 on the CPU.
gpu: Scalar, the device's number among the GPUs that CUDA shows; -1 on the CPU.
)doc");

}  // namespace nvc
