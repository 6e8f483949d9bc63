#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace nvc {

using ::tensorflow::shape_inference::InferenceContext;

REGISTER_OP("NvcAvailability")
    .Output("available: bool")
    .Output("detail: string")
    .Attr("engine: {'nvdec', 'nvenc'}")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Scalar());
      c->set_output(1, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Tells whether a GPU of this machine has NVIDIA's video decoder or encoder.

engine: Which of the two.
available: Whether a GPU has it.
detail: The GPU and what its engine takes, or why there is none.
)doc");

REGISTER_OP("NvcBuildInfo")
    .Output("names: string")
    .Output("values: string")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Vector(InferenceContext::kUnknownDim));
      c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Versions of what the library was compiled with and of what it runs with.

names: One name for each entry, such as "libavcodec/build" and "libavcodec/run".
values: The entries, in the same order.
)doc");

}  // namespace nvc
