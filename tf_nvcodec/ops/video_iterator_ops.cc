#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tf_nvcodec/ops/decode_attributes.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status OpenShape(InferenceContext* c) {
  constexpr int kRanks[] = {0, 0, 0, 0, 0, 1, 1};
  ShapeHandle unused;
  for (int i = 0; i < static_cast<int>(sizeof(kRanks) / sizeof(kRanks[0])); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), kRanks[i], &unused));
  }
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return absl::OkStatus();
}

absl::Status NextShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  c->set_output(0, c->UnknownShape());
  c->set_output(1, c->Vector(InferenceContext::kUnknownDim));
  c->set_output(2, c->Vector(InferenceContext::kUnknownDim));
  return absl::OkStatus();
}

absl::Status CloseShape(InferenceContext* c) {
  ShapeHandle unused;
  return c->WithRank(c->input(0), 0, &unused);
}

}  // namespace

REGISTER_OP("VideoIterator")
    .Input("video: string")
    .Input("start: int64")
    .Input("stop: int64")
    .Input("stride: int64")
    .Input("frames: int64")
    .Input("size: int32")
    .Input("crop: int32")
    .Output("iterator: int64")
    .Output("total: int64")
    .Attr("source: {'files', 'contents'} = 'files'")
    .Attr("index_cache: string = ''")
    .NVC_DECODE_ATTRIBUTES.SetIsStateful()
    .SetShapeFn(OpenShape)
    .Doc(R"doc(
Begins to read a video from front to back, in chunks of frames. VideoIteratorNext gives the chunks.

video: Scalar, the name of a file or, with source='contents', the bytes of a file.
start: The first frame; a negative value counts from the end.
stop: The end of the range, exclusive; a negative value counts from the end. A value beyond the
  last frame means the end of the video.
stride: The step from one frame to the next, at least 1.
frames: The number of frames in a chunk, at least 1; the last chunk may have fewer. The least int64
  means as many RGB frames as fit into 64 MiB, at least 1 and at most 64.
size: [height, width] of the frames, [-n, -n] for n pixels on the shorter side, or [0, 0] to keep
  their size.
crop: [top, left, height, width], or zeros for no crop.
iterator: Names the iterator. It lives until VideoIteratorClose, or the end of the process.
total: The number of frames that all chunks have together, damaged ones included.
index_cache: The folder of the frame-index cache; '' means no cache.
)doc");

REGISTER_OP("VideoIteratorNext")
    .Input("iterator: int64")
    .Output("frames: dtype")
    .Output("pts: double")
    .Output("valid: bool")
    .Attr("dtype: {uint8, uint16, half, float} = DT_UINT8")
    .SetIsStateful()
    .SetShapeFn(NextShape)
    .Doc(R"doc(
Returns the next chunk of an iterator. It must run on the device that VideoIterator ran on.

iterator: Names the iterator.
frames: [T, H, W, C], [T, C, H, W] or [T, bytes]; [0] behind the last chunk.
pts: [T], the presentation times in seconds.
valid: [T], false if on_error="repeat" replaced the frame by another one of the chunk.
dtype: That of the iterator.
)doc");

REGISTER_OP("VideoIteratorClose")
    .Input("iterator: int64")
    .SetIsStateful()
    .SetShapeFn(CloseShape)
    .Doc(R"doc(
Stops an iterator and frees what it holds. Does nothing if it is closed already.

iterator: Names the iterator.
)doc");

}  // namespace nvc
