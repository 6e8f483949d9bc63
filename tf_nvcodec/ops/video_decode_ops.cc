#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/ops/decode_attributes.h"
#include "tf_nvcodec/ops/frame_dims.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status SetOutputs(InferenceContext* c, DimensionHandle frames, int size_input,
                        int crop_input) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  std::vector<DimensionHandle> dims;
  TF_RETURN_IF_ERROR(FrameDims(c, size_input, crop_input, &dims));
  std::string on_error;
  TF_RETURN_IF_ERROR(c->GetAttr("on_error", &on_error));
  if (on_error == "skip") frames = c->UnknownDim();
  dims.insert(dims.begin(), frames);
  c->set_output(0, c->MakeShape(dims));
  c->set_output(1, c->Vector(frames));
  c->set_output(2, c->Vector(frames));
  return absl::OkStatus();
}

absl::Status RangeShape(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 1; i <= 3; ++i) TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  const ::tensorflow::Tensor* stride = c->input_tensor(3);
  if (stride != nullptr && stride->scalar<int64_t>()() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("stride must be at least 1, got ", stride->scalar<int64_t>()()));
  }
  return SetOutputs(c, c->UnknownDim(), 4, 5);
}

absl::Status FramesAtShape(InferenceContext* c) {
  ShapeHandle positions;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &positions));
  return SetOutputs(c, c->Dim(positions, 0), 2, 3);
}

}  // namespace

#define NVC_DECODE_OUTPUTS Output("frames: dtype").Output("pts: double").Output("valid: bool")

constexpr char kSharedDoc[] = R"doc(
contents: Scalar, the bytes of a video file.
size: [height, width] of the frames, [-n, -n] for n pixels on the shorter side, or [0, 0] to keep
  their size.
crop: [top, left, height, width] in pixels of the displayed frame, before the resize; zeros mean no
  crop.
frames: [T, H, W, C], [T, C, H, W] or, for the packed formats, [T, bytes].
pts: [T], the presentation times in seconds.
valid: [T], false if on_error="repeat" replaced the frame by another one.
dtype: uint16 values span 0 to 65535; half and float values span 0 to 1 before mean and std.
pixel_format: "native", "nv12", "yuv420p", "yuv444p" and "p010" are packed as FFmpeg's rawvideo.
layout: The place of the channels: last ("thwc") or after T ("tchw").
resize_method: As in tf.image.resize with antialias=False.
chroma_upsampling: The filter that makes full-resolution chroma from subsampled planes.
apply_rotation: Whether to mirror and turn the frames as the stream's display matrix says.
deinterlace: "bob" keeps the first field of interlaced frames and interpolates the other rows.
color_space: Overrides the stream's matrix.
color_range: Overrides the stream's range.
mean: One value for each channel or one for all; the op subtracts it from float frames.
std: One value for each channel or one for all; the op divides float frames by it.
backend: "nvdec" decodes on the op's GPU (for an op on the CPU, on the first GPU) or fails. "auto"
  does the same for an op on a GPU if the result is exact; otherwise it decodes with FFmpeg,
  as "cpu" always does.
num_threads: The number of threads, or of NVDEC sessions; 0 takes the cores that no other decode of
  the process uses.
on_error: What the op does about damaged frames: "raise" fails, "skip" leaves them out, "repeat"
  puts the last good frame in their place.
max_pixels: The op refuses larger coded pictures; 0 means no limit.
max_frames: The op refuses to decode more frames; 0 means no limit.
max_packets: The op refuses streams of more packets with ResourceExhausted; 0 means no limit.
max_bytes: The op refuses larger outputs with ResourceExhausted; 0 means no limit.
timeout: Seconds after which the op ends with DeadlineExceeded; 0 means no limit.
)doc";

REGISTER_OP("VideoDecode")
    .Input("contents: string")
    .Input("start: int64")
    .Input("stop: int64")
    .Input("stride: int64")
    .Input("size: int32")
    .Input("crop: int32")
    .NVC_DECODE_OUTPUTS.NVC_DECODE_ATTRIBUTES.SetShapeFn(RangeShape)
    .Doc(absl::StrCat(R"doc(
Decodes the frames start, start + stride, ... below stop, counted in display order.

start: The first frame; a negative value counts from the end.
stop: The end of the range, exclusive; a negative value counts from the end. A value beyond the
  last frame means the end of the video.
stride: The step from one frame to the next, at least 1.)doc",
                      kSharedDoc));

REGISTER_OP("VideoDecodeFramesAt")
    .Input("contents: string")
    .Input("positions: P")
    .Input("size: int32")
    .Input("crop: int32")
    .Attr("P: {int64, double, float}")
    .NVC_DECODE_OUTPUTS.NVC_DECODE_ATTRIBUTES.SetShapeFn(FramesAtShape)
    .Doc(absl::StrCat(R"doc(
Decodes the frames at given indices or timestamps. Keeps their order and duplicates.

positions: [T], frame indices (negative ones count from the end), or times in seconds, each of which
  selects the frame displayed then. A float32 time also stands for a frame that appears within half
  an ulp after it.)doc",
                      kSharedDoc));

}  // namespace nvc
