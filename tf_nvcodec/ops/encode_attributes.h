// Lists the inputs, the output and the attributes of every op that encodes.
// kernels/encode/encode_attributes.h reads the attributes.
#ifndef TF_NVCODEC_OPS_ENCODE_ATTRIBUTES_H_
#define TF_NVCODEC_OPS_ENCODE_ATTRIBUTES_H_

#define NVC_ENCODE_ATTRIBUTES                                                             \
  Input("frames: T")                                                                      \
      .Input("fps: double")                                                               \
      .Input("pts: double")                                                               \
      .Input("size: int32")                                                               \
      .Output("contents: string")                                                         \
      .Attr("T: {uint8, uint16, half, float}")                                            \
      .Attr("codec: {'h264', 'hevc', 'av1', 'vp9', 'mjpeg', 'ffv1'} = 'h264'")            \
      .Attr(                                                                              \
          "container: {'mp4', 'mov', 'mkv', 'webm', 'avi', 'ts', 'raw', 'ivf', 'obu'} = " \
          "'mp4'")                                                                        \
      .Attr(                                                                              \
          "input_format: {'rgb', 'bgr', 'gray', 'nv12', 'yuv420p', 'yuv444p', 'p010'} = " \
          "'rgb'")                                                                        \
      .Attr("crf: float = -1.0")                                                          \
      .Attr("bitrate: int >= 0 = 0")                                                      \
      .Attr("gop: int >= 0 = 0")                                                          \
      .Attr("bf: int >= -1 = -1")                                                         \
      .Attr("preset: string = ''")                                                        \
      .Attr("pixel_format: string = ''")                                                  \
      .Attr("color_space: {'', 'bt601', 'bt709', 'bt2020'} = ''")                         \
      .Attr("color_range: {'', 'limited', 'full'} = ''")                                  \
      .Attr("num_threads: int >= 0 = 0")                                                  \
      .Attr("fragmented: bool = false")                                                   \
      .Attr("faststart: bool = true")                                                     \
      .Attr("options: list(string) = []")                                                 \
      .Attr("backend: {'auto', 'cpu', 'nvenc'} = 'auto'")

#endif  // TF_NVCODEC_OPS_ENCODE_ATTRIBUTES_H_
