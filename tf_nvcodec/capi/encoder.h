// An encoder for ctypes: frames in host or GPU memory in, packets of an elementary stream out.
#ifndef TF_NVCODEC_CAPI_ENCODER_H_
#define TF_NVCODEC_CAPI_ENCODER_H_

#include <cstdint>

#include "tf_nvcodec/capi/export.h"

// Strings end with 0; a null or "" color_space is unset, and so is a tick_units of 0. `names` and
// `values` hold `options` of libavcodec and then `params` of the encoder library. With `nvenc`:
// the GPU (-1: the first one that has it), whether the encoder reads frames there, and a CUDA
// context that must be the GPU's primary one, or 0.
struct NvcEncoderConfig {
  const char* codec;
  const char* format;
  const char* color_space;
  const char* const* names;
  const char* const* values;
  int32_t options, params;
  int32_t width, height;
  int32_t fps_num, fps_den;
  int32_t gop;
  int32_t repeat_headers, full_range;
  int32_t tick_units, tick_scale;
  int32_t nvenc, gpu, frames_on_gpu;
  uint64_t cuda_context;
};

// Of a frame in GPU memory; nv/gpu_frame_input.h says how they follow each other.
struct NvcGpuRows {
  uint64_t data, row_bytes, rows, pitch;
};

// `data` is valid until the encoder's next call.
struct NvcPacket {
  const uint8_t* data;
  uint64_t size;
  int64_t timestamp, pts, dts;
  int32_t picture_type;  // libavutil's: 1 I, 2 P, 3 B; 0 unknown
  int32_t key;
};

struct NvcEncoder;

NVC_API int nvc_encoder_new(const NvcEncoderConfig* config, NvcEncoder** out);
NVC_API void nvc_encoder_free(NvcEncoder* encoder);
// Bytes of a frame in memory, and what one tick of a packet's times is.
NVC_API int nvc_encoder_info(NvcEncoder* encoder, uint64_t* frame_bytes, int32_t* time_num,
                             int32_t* time_den);
NVC_API int nvc_encoder_encode(NvcEncoder* encoder, const void* data, uint64_t size,
                               int64_t timestamp, int force_key);
// As above, of a frame in the memory of GPU `gpu`: in host memory for the CPU's encoders, on the
// GPU for NVENC. The rows may change as soon as this returns.
NVC_API int nvc_encoder_encode_gpu(NvcEncoder* encoder, int gpu, const NvcGpuRows* rows,
                                   int num_rows, int64_t timestamp, int force_key);
// The stream on which frames of that GPU are read, and what has to come before that: streams are
// numbered as DLPack does.
NVC_API int nvc_encoder_gpu_stream(NvcEncoder* encoder, int gpu, int64_t* stream);
NVC_API int nvc_encoder_wait_for(NvcEncoder* encoder, int gpu, int64_t stream);
NVC_API int nvc_encoder_finish(NvcEncoder* encoder);
// The next packet; a null `data` when there is none yet.
NVC_API int nvc_encoder_packet(NvcEncoder* encoder, NvcPacket* out);
NVC_API int nvc_encoder_parameter_sets(NvcEncoder* encoder, const uint8_t** data, uint64_t* size);
NVC_API int nvc_encoder_set_rate(NvcEncoder* encoder, int64_t bitrate, int64_t max_bitrate,
                                 int64_t vbv_size, int32_t fps_num, int32_t fps_den);
// Whether encoders are to be NVENC's where nobody says which.
NVC_API int nvc_nvenc_is_on();
// The GPU that an address is of.
NVC_API int nvc_gpu_of_memory(uint64_t address, int32_t* gpu);
// Whether libavcodec's `encoder` has `count` options of these names and takes these values.
NVC_API int nvc_encoder_check_options(const char* encoder, const char* const* names,
                                      const char* const* values, int count);

#endif  // TF_NVCODEC_CAPI_ENCODER_H_
