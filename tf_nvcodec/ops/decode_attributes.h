// Lists the attributes of every op that decodes. kernels/decode/decode_setup.h reads them.
#ifndef TF_NVCODEC_OPS_DECODE_ATTRIBUTES_H_
#define TF_NVCODEC_OPS_DECODE_ATTRIBUTES_H_

#define NVC_DECODE_ATTRIBUTES                                                        \
  Attr("dtype: {uint8, uint16, half, float} = DT_UINT8")                             \
      .Attr(                                                                         \
          "pixel_format: {'native', 'rgb', 'bgr', 'gray', 'nv12', 'yuv420p', "       \
          "'yuv444p', 'p010'} = 'rgb'")                                              \
      .Attr("layout: {'thwc', 'tchw'} = 'thwc'")                                     \
      .Attr(                                                                         \
          "resize_method: {'nearest', 'bilinear', 'bicubic', 'area', 'lanczos3'} = " \
          "'bilinear'")                                                              \
      .Attr("antialias: bool = false")                                               \
      .Attr("chroma_upsampling: {'nearest', 'bilinear'} = 'nearest'")                \
      .Attr("apply_rotation: bool = true")                                           \
      .Attr("deinterlace: {'none', 'bob'} = 'none'")                                 \
      .Attr("color_space: {'', 'bt601', 'bt709', 'bt2020'} = ''")                    \
      .Attr("color_range: {'', 'limited', 'full'} = ''")                             \
      .Attr("mean: list(float) = []")                                                \
      .Attr("std: list(float) = []")                                                 \
      .Attr("backend: {'auto', 'cpu', 'nvdec'} = 'auto'")                            \
      .Attr("num_threads: int >= 0 = 0")                                             \
      .Attr("on_error: {'raise', 'skip', 'repeat'} = 'raise'")                       \
      .Attr("max_pixels: int >= 0 = 67108864")                                       \
      .Attr("max_frames: int >= 0 = 0")                                              \
      .Attr("max_packets: int >= 0 = 8388608")                                       \
      .Attr("max_bytes: int >= 0 = 17179869184")                                     \
      .Attr("timeout: float = 0.0")

#endif  // TF_NVCODEC_OPS_DECODE_ATTRIBUTES_H_
