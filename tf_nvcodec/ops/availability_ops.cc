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
Says whether a GPU of this machine has NVIDIA's video decoder or encoder.

engine: The decoder (nvdec) or the encoder (nvenc).
available: Whether a GPU has that engine.
detail: The GPU and the codecs of its engine, or the reason why no GPU has one.
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
Lists the versions of the libraries that this one was compiled with and runs with.

names: The names of the entries, such as "libavcodec/build" and "libavcodec/run".
values: The values of the entries, in the same order.
)doc");

}  // namespace nvc
