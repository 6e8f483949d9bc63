#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_nvcodec/ops/encode_attributes.h"

namespace nvc {
namespace {

using ::tensorflow::shape_inference::DimensionHandle;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

constexpr int kFrames = 0, kFps = 1, kPts = 2, kSize = 3;

int ChannelsOf(const std::string& input_format) {
  if (input_format == "rgb" || input_format == "bgr") return 3;
  return input_format == "gray" ? 1 : 0;
}

// Returns the bytes of a packed frame, laid out as FFmpeg's rawvideo: chroma planes round odd sides
// up.
int64_t PackedBytes(const std::string& input_format, int64_t height, int64_t width) {
  const int64_t luma = height * width;
  if (input_format == "yuv444p") return 3 * luma;
  const int64_t chroma = 2 * ((height + 1) / 2) * ((width + 1) / 2);
  return input_format == "p010" ? 2 * (luma + chroma) : luma + chroma;
}

absl::Status CheckSize(InferenceContext* c, const std::string& input_format, ShapeHandle frames) {
  ShapeHandle shape;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kSize), 1, &shape));
  DimensionHandle unused;
  TF_RETURN_IF_ERROR(c->WithValue(c->Dim(shape, 0), 2, &unused));
  const ::tensorflow::Tensor* const size = c->input_tensor(kSize);
  if (size == nullptr) return absl::OkStatus();
  const int64_t height = size->vec<int32_t>()(0), width = size->vec<int32_t>()(1);
  if (ChannelsOf(input_format) != 0) {
    if (height == 0 && width == 0) return absl::OkStatus();
    TF_RETURN_IF_ERROR(c->WithValue(c->Dim(frames, 1), height, &unused));
    return c->WithValue(c->Dim(frames, 2), width, &unused);
  }
  if (height <= 0 || width <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frames of input_format ", input_format,
                     " are packed and need size=(height, width), both positive; got (", height,
                     ", ", width, ")"));
  }
  const int64_t bytes = PackedBytes(input_format, height, width);
  const DimensionHandle given = c->Dim(frames, 1);
  if (c->ValueKnown(given) && c->Value(given) != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("frames of input_format ", input_format,
                                                   " and size (", height, ", ", width, ") have ",
                                                   bytes, " bytes each; got ", c->Value(given)));
  }
  return absl::OkStatus();
}

absl::Status EncodeShape(InferenceContext* c) {
  std::string input_format;
  ::tensorflow::DataType dtype;
  TF_RETURN_IF_ERROR(c->GetAttr("input_format", &input_format));
  TF_RETURN_IF_ERROR(c->GetAttr("T", &dtype));
  const int channels = ChannelsOf(input_format);
  ShapeHandle frames, unused;
  DimensionHandle count, unused_dim;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kFrames), channels == 0 ? 2 : 4, &frames));
  if (channels != 0) {
    TF_RETURN_IF_ERROR(c->WithValue(c->Dim(frames, 3), channels, &unused_dim));
  } else if (dtype != ::tensorflow::DT_UINT8) {
    return absl::InvalidArgumentError(absl::StrCat("frames of input_format ", input_format,
                                                   " are packed bytes, dtype uint8; got ",
                                                   ::tensorflow::DataTypeString(dtype)));
  }
  count = c->Dim(frames, 0);
  if (c->ValueKnown(count) && c->Value(count) == 0) {
    return absl::InvalidArgumentError("frames must hold at least one frame; got none");
  }
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kFps), 0, &unused));

  ShapeHandle pts;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(kPts), 1, &pts));
  const DimensionHandle times = c->Dim(pts, 0);
  if (c->ValueKnown(times) && c->ValueKnown(count) && c->Value(times) != 0 &&
      c->Value(times) != c->Value(count)) {
    return absl::InvalidArgumentError(absl::StrCat("pts must have one time a frame; got ",
                                                   c->Value(times), " times for ", c->Value(count),
                                                   " frames"));
  }
  TF_RETURN_IF_ERROR(CheckSize(c, input_format, frames));
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("VideoEncode").NVC_ENCODE_ATTRIBUTES.SetShapeFn(EncodeShape).Doc(R"doc(
Encodes a batch of frames to the bytes of one video file.

frames: [T, H, W, C] for rgb, bgr (C = 3) and gray (C = 1); [T, frame_bytes] for the packed formats.
fps: Scalar, frames per second; 29.97 and similar rates mean n * 1000 / 1001.
pts: [T], the presentation times in seconds, strictly increasing from 0; shape [0] takes the times
  from fps.
size: [height, width] of packed frames; zeros for other frames.
contents: Scalar, the bytes of the file.
T: uint16 values span 0 to 65535, half and float values 0 to 1; packed frames are uint8.
codec: The codec of the stream.
container: The file format; "raw" is the codec's elementary stream.
input_format: The format of `frames`; packed formats are laid out as FFmpeg's rawvideo.
crf: The constant quality on the codec's own scale, where lower is better; -1 means the default.
bitrate: Bits per second; replaces crf. 0 means that crf counts.
gop: The largest distance between key frames, in frames; 0 means the codec's default.
bf: The largest number of B-frames in a row; -1 means the codec's default.
preset: The encoder's own name for a compromise of speed and size; empty means its default.
pixel_format: FFmpeg's name of the stream's format; empty means one that suits the frames.
color_space: The matrix of the stream; empty means bt709 if width >= 1280 or height > 576, else
  bt601.
color_range: The range of the stream; empty means full for gray, RGB and MJPEG, limited for others.
num_threads: The number of threads; 0 lets the encoder choose.
fragmented: Whether to write a fragmented MP4 or MOV.
faststart: Whether to put the index of an MP4 or MOV before the frames.
options: The encoder's own options, each "name=value".
backend: "cpu" encodes with FFmpeg. "nvenc" encodes on the first GPU with NVENC, or fails. "auto"
  means "nvenc" if the user has switched that on and NVENC gives the options the same meaning, else
  "cpu".
)doc");

REGISTER_OP("VideoEncodeOnDevice").NVC_ENCODE_ATTRIBUTES.SetShapeFn(EncodeShape).Doc(R"doc(
Encodes like VideoEncode, but also runs on a GPU and gives NVENC the frames in GPU memory.

On a GPU device, that GPU's NVENC encodes. If the CPU has to encode, the op copies the frames to
host memory first. Apart from `frames`, all inputs and the output are in host memory.
)doc");

}  // namespace nvc
