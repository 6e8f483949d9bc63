#include <vector>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tf_nvcodec/ops/decode_attributes.h"
#include "tf_nvcodec/ops/frame_dims.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status DecodePacketsShape(InferenceContext* c) {
  ShapeHandle packets;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &packets));
  ShapeHandle crops, flips;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(3), 2, &crops));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(4), 1, &flips));
  std::vector<DimensionHandle> dims;
  TF_RETURN_IF_ERROR(FrameDims(c, 1, 2, &dims));
  const std::vector<DimensionHandle> by_frame = {c->Dim(packets, 0), c->UnknownDim()};
  dims.insert(dims.begin(), by_frame.begin(), by_frame.end());
  c->set_output(0, c->MakeShape(dims));
  c->set_output(1, c->MakeShape(by_frame));
  c->set_output(2, c->MakeShape(by_frame));
  c->set_output(3, packets);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("VideoDecodePackets")
    .Input("packets: string")
    .Input("size: int32")
    .Input("crop: int32")
    .Input("crops: int32")
    .Input("flips: bool")
    .Output("frames: dtype")
    .Output("pts: double")
    .Output("mask: bool")
    .Output("status: string")
    .NVC_DECODE_ATTRIBUTES.SetShapeFn(DecodePacketsShape)
    .Doc(R"doc(
Decodes a batch of packed clips, as VideoDataset makes them with decode=false, of T frames each.

packets: [B], a packed clip each.
size: [height, width] of the frames, [-n, -n] for n pixels on the shorter side, or [0, 0] to keep
  their size, which all must share then.
crop: [top, left, height, width], or zeros for no crop.
crops: [B, 4], a crop for each clip, or [0, 4].
flips: [B], whether to mirror the clip's frames left to right, or [0].
frames: [B, T, H, W, C], [B, T, C, H, W] or, for the packed formats, [B, T, bytes].
pts: [B, T], the presentation times in seconds.
mask: [B, T], true for frames of the video that are neither padding nor replaced.
status: [B], empty if the clip was decoded, else what is wrong with it; its row is zeros then.
on_error: What the op does about a clip that it can't decode: "raise" fails, the others set its
  status. With "repeat", damaged frames are replaced by the last good frame of their clip instead.
)doc");

}  // namespace nvc
