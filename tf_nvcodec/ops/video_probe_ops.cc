#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace nvc {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

REGISTER_OP("VideoProbe")
    .Input("contents: string")
    .Output("width: int32")
    .Output("height: int32")
    .Output("num_frames: int64")
    .Output("fps: double")
    .Output("duration: double")
    .Output("codec: string")
    .Output("pixel_format: string")
    .Output("bit_depth: int32")
    .Output("rotation: int32")
    .Output("color_space: string")
    .Output("color_range: string")
    .Output("has_audio: bool")
    .Output("sample_aspect_ratio: double")
    .Output("color_primaries: string")
    .Output("color_transfer: string")
    .Output("mirrored: bool")
    .Attr("source: {'contents', 'files'} = 'contents'")
    .Attr("max_pixels: int = 67108864")
    .Attr("max_frames: int = 0")
    .Attr("max_packets: int >= 0 = 8388608")
    .Attr("timeout: float = 0.0")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle contents;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &contents));
      for (int i = 0; i < c->num_outputs(); ++i) c->set_output(i, c->Scalar());
      return absl::OkStatus();
    })
    .Doc(R"doc(
Reads the properties of a video. Counts every packet and decodes the first frame.

contents: Scalar, the bytes of a video file or, with source='files', its name.
width: Pixels of a stored frame.
height: Pixels of a stored frame.
num_frames: The number of frames that a full decode gives.
fps: Average frames per second.
duration: Seconds from the first frame's pts to the end of the last frame.
codec: FFmpeg's name, such as "h264".
pixel_format: FFmpeg's name of the stored format, such as "yuv420p".
bit_depth: Bits of a luma sample.
rotation: Degrees clockwise by which a stored frame is turned for display: 0, 90, 180 or 270.
color_space: FFmpeg's name of the stream's matrix, such as "bt709"; "unknown" without a tag.
color_range: "limited", "full" or "unknown".
has_audio: Whether there is an audio stream beside the video.
sample_aspect_ratio: Width of a pixel over its height; 1 when unknown.
color_primaries: FFmpeg's name of the primaries, such as "bt2020"; "unknown" without a tag.
color_transfer: FFmpeg's name of the transfer function, such as "smpte2084"; "unknown" without a
  tag.
mirrored: Whether a stored frame is mirrored left to right for display, before it is turned.
max_pixels: The op refuses larger pictures with ResourceExhausted or DataLoss; 0 means no limit.
max_frames: The op refuses more frames with ResourceExhausted; 0 means no limit.
max_packets: The op refuses streams of more packets with ResourceExhausted; 0 means no limit.
timeout: Seconds after which the op ends with DeadlineExceeded; 0 means no limit.
)doc");

}  // namespace nvc
