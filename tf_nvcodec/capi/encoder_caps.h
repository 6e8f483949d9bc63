// The C API's queries of what encoders support: those of the CPU, and NVENC.
#ifndef TF_NVCODEC_CAPI_ENCODER_CAPS_H_
#define TF_NVCODEC_CAPI_ENCODER_CAPS_H_

#include <cstdint>

#include "tf_nvcodec/capi/export.h"

// Limits of an encoder on the CPU. Sides are in pixels.
struct nvc_encoder_caps {
  int32_t least_side, most_width, most_height;
  int32_t b_frames;
  int32_t ten_bits, full_chroma;  // whether it supports them
};

// Returns Unimplemented if this FFmpeg has no encoder for the codec.
NVC_API int nvc_encoder_get_caps(const char* codec, nvc_encoder_caps* caps);

struct nvc_nvenc_cap {
  const char* name;  // as in NvencCapability
  int32_t value;
};

// Reads the capabilities of the GPU's NVENC for a codec. Sets `count` to their number and writes up
// to `room` of them to `caps`. Returns FailedPrecondition without an NVENC, and Unimplemented if it
// does not have the codec.
NVC_API int nvc_nvenc_get_caps(int gpu, const char* codec, nvc_nvenc_cap* caps, int32_t room,
                               int32_t* count);

#endif  // TF_NVCODEC_CAPI_ENCODER_CAPS_H_
