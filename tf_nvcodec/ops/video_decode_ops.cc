#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/ops/decode_attributes.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

// Checks that int32 input `input` is a vector of `count` values. If it is a constant, copies it to
// `values` and sets `known`.
absl::Status ReadVector(InferenceContext* c, int input, const char* name, int count, int* values,
                        bool* known) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(input), 1, &shape));
  DimensionHandle unused;
  TF_RETURN_IF_ERROR(c->WithValue(c->Dim(shape, 0), count, &unused));
  const ::tensorflow::Tensor* tensor = c->input_tensor(input);
  *known = tensor != nullptr;
  for (int i = 0; *known && i < count; ++i) {
    values[i] = tensor->vec<int32_t>()(i);
    if (values[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must not be negative, got ", values[i], " at place ", i));
    }
  }
  return absl::OkStatus();
}

// Puts [H, W, C], [C, H, W] or [bytes] into `dims`, as far as the attributes and constant inputs
// tell.
absl::Status FrameShape(InferenceContext* c, int size_input, int crop_input,
                        std::vector<DimensionHandle>* dims) {
  int size[2], crop[4];
  bool size_known = false, crop_known = false;
  TF_RETURN_IF_ERROR(ReadVector(c, size_input, "size", 2, size, &size_known));
  TF_RETURN_IF_ERROR(ReadVector(c, crop_input, "crop", 4, crop, &crop_known));
  DimensionHandle height = c->UnknownDim(), width = c->UnknownDim();
  if (size_known && (size[0] > 0) != (size[1] > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "size must be (height, width), both positive, got (", size[0], ", ", size[1], ")"));
  }
  if (size_known && size[0] > 0) {
    height = c->MakeDim(size[0]);
    width = c->MakeDim(size[1]);
  } else if (size_known && crop_known && crop[2] > 0 && crop[3] > 0) {
    height = c->MakeDim(crop[2]);
    width = c->MakeDim(crop[3]);
  }
  std::string format, layout;
  TF_RETURN_IF_ERROR(c->GetAttr("pixel_format", &format));
  TF_RETURN_IF_ERROR(c->GetAttr("layout", &layout));
  if (format != "rgb" && format != "bgr" && format != "gray") {
    DimensionHandle bytes = c->UnknownDim();
    if (c->ValueKnown(height) && c->ValueKnown(width)) {
      const int64_t pixels = c->Value(height) * c->Value(width);
      if (format == "yuv444p" || format == "p010") bytes = c->MakeDim(pixels * 3);
      if (format == "nv12" || format == "yuv420p") bytes = c->MakeDim(pixels * 3 / 2);
    }
    *dims = {bytes};
    return absl::OkStatus();
  }
  const DimensionHandle channels = c->MakeDim(format == "gray" ? 1 : 3);
  if (layout == "tchw") {
    *dims = {channels, height, width};
  } else {
    *dims = {height, width, channels};
  }
  return absl::OkStatus();
}

absl::Status SetOutputs(InferenceContext* c, DimensionHandle frames, int size_input,
                        int crop_input) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  std::vector<DimensionHandle> dims;
  TF_RETURN_IF_ERROR(FrameShape(c, size_input, crop_input, &dims));
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
size: [height, width] of the frames, or [0, 0] to keep their size.
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
apply_rotation: Whether to rotate the frames as the stream's display matrix says.
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
max_bytes: The op refuses larger outputs with ResourceExhausted; 0 means no limit.
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
    .Attr("P: {int64, double}")
    .NVC_DECODE_OUTPUTS.NVC_DECODE_ATTRIBUTES.SetShapeFn(FramesAtShape)
    .Doc(absl::StrCat(R"doc(
Decodes the frames at given indices or timestamps. Keeps their order and duplicates.

positions: [T], frame indices (negative ones count from the end), or times in seconds, each of which
  selects the frame displayed then.)doc",
                      kSharedDoc));

}  // namespace nvc
