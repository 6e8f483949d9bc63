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
Counts what the pools of NVDEC sessions have done in this process.

counters: The number of sessions created, reused, reconfigured (a part of those reused),
  destroyed, failed (a part of those destroyed), idle now and in use now. The last counter is
  the number of segments that FFmpeg decoded again.
)doc");

}  // namespace nvc
