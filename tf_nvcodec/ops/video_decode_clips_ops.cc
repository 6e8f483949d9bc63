#include <vector>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tf_nvcodec/ops/clip_attributes.h"
#include "tf_nvcodec/ops/decode_attributes.h"
#include "tf_nvcodec/ops/frame_dims.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status DecodeClipsShape(InferenceContext* c) {
  ShapeHandle contents, unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &contents));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 0, &unused));
  TF_RETURN_IF_ERROR(c->WithRank(c->input(2), 0, &unused));
  std::vector<DimensionHandle> dims;
  TF_RETURN_IF_ERROR(FrameDims(c, 3, 4, &dims));
  int64_t clips = 0, length = 0;
  TF_RETURN_IF_ERROR(c->GetAttr("clips_per_video", &clips));
  TF_RETURN_IF_ERROR(c->GetAttr("clip_length", &length));
  const std::vector<DimensionHandle> by_frame = {c->Dim(contents, 0), c->MakeDim(clips),
                                                 c->MakeDim(length)};
  dims.insert(dims.begin(), by_frame.begin(), by_frame.end());
  c->set_output(0, c->MakeShape(dims));
  c->set_output(1, c->MakeShape(by_frame));
  c->set_output(2, c->MakeShape(by_frame));
  c->set_output(3, contents);
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("VideoDecodeClips")
    .Input("contents: string")
    .Input("period: double")
    .Input("seed: int64")
    .Input("size: int32")
    .Input("crop: int32")
    .Output("frames: dtype")
    .Output("pts: double")
    .Output("mask: bool")
    .Output("status: string")
    .NVC_CLIP_CHOICE_ATTRIBUTES
    .Attr("sampling: {'uniform', 'random', 'center', 'start'} = 'uniform'")
    .Attr("center_crop: float = 0.0")
    .NVC_DECODE_ATTRIBUTES.SetShapeFn(DecodeClipsShape)
    .Doc(R"doc(
Decodes clips of each video of a batch: K = clips_per_video clips of T = clip_length frames. The
attributes that VideoDataset and VideoDecode have too mean the same here.

contents: [B], the bytes of a video file each.
period: Scalar, the seconds between the positions that stride counts; 0 means that every frame is a
  position.
seed: Scalar; sampling='random' chooses the clips of a video by it and by the video's place.
size: [height, width] of the frames, [-n, -n] for n pixels on the shorter side, or [0, 0] to keep
  their size, which all must share then.
crop: [top, left, height, width], or zeros for no crop.
frames: [B, K, T, H, W, C], [B, K, T, C, H, W] or, for the packed formats, [B, K, T, bytes].
pts: [B, K, T], the presentation times in seconds.
mask: [B, K, T], true for frames of the video that are neither padding nor replaced.
status: [B], empty if the video was decoded, else what is wrong with it; its row is zeros then.
center_crop: The part, 0 to 1, of the largest rectangle in the middle of the frame that has the
  shape of size; the op cuts it out before the resize. 0 means no cut.
on_error: What the op does about a video that it can't decode: "raise" fails, the others set its
  status. With "repeat", damaged frames are replaced by the last good frame of their clip instead.
)doc");

}  // namespace nvc
