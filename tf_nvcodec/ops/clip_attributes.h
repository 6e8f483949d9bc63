// Lists the attributes of every op that chooses clips. kernels/decode/clip_attributes.h reads them.
#ifndef TF_NVCODEC_OPS_CLIP_ATTRIBUTES_H_
#define TF_NVCODEC_OPS_CLIP_ATTRIBUTES_H_

// All but clip_step and sampling, which are not the same for every op.
#define NVC_CLIP_CHOICE_ATTRIBUTES      \
  Attr("clip_length: int = 16")         \
      .Attr("stride: int = 1")          \
      .Attr("clips_per_video: int = 1") \
      .Attr("pad: {'drop', 'zero', 'repeat', 'wrap'} = 'repeat'")

#endif  // TF_NVCODEC_OPS_CLIP_ATTRIBUTES_H_
