#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace nvc {

using ::tensorflow::shape_inference::InferenceContext;

REGISTER_OP("NvcDecoderPool")
    .Output("counters: int64")
    .SetIsStateful()
    .SetShapeFn([](InferenceContext* c) {
      c->set_output(0, c->Vector(8));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Tells what the pools of NVDEC sessions did so far in this process.

counters: Sessions created, reused, reconfigured (of the reused), destroyed, failed (of the
  destroyed), idle now and in use now; and segments that FFmpeg decoded again.
)doc");

}  // namespace nvc
