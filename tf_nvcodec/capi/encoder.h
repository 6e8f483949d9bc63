// The C API's encoder: frames in host or GPU memory in, packets of an elementary stream out.
#ifndef TF_NVCODEC_CAPI_ENCODER_H_
#define TF_NVCODEC_CAPI_ENCODER_H_

#include <cstdint>

#include "tf_nvcodec/capi/export.h"

// Describes an encoder. Strings end with 0. A color_space of null or "" and a tick_units of 0 mean
// unset. `names` and `values` hold first `options` options of libavcodec, then `params` parameters
// of the encoder library. If `nvenc` is set, NVENC encodes: `gpu` is its GPU (-1: the first one
// that has NVENC), `frames_on_gpu` says whether the encoder reads frames in its memory, and
// `cuda_context` is 0 or the GPU's primary context.
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

// Rows of a frame in GPU memory. nv/encode/gpu_frame_input.h says how they follow each other.
struct NvcGpuRows {
  uint64_t data, row_bytes, rows, pitch;
};

// A packet. `data` is valid until the next call of the encoder.
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
// Sets `frame_bytes` to the bytes of a frame in memory, and the time base to the unit of packet
// times.
NVC_API int nvc_encoder_info(NvcEncoder* encoder, uint64_t* frame_bytes, int32_t* time_num,
                             int32_t* time_den);
NVC_API int nvc_encoder_encode(NvcEncoder* encoder, const void* data, uint64_t size,
                               int64_t timestamp, int force_key);
// Encodes a frame in the memory of GPU `gpu`. NVENC on that GPU reads it there; for other encoders
// it is copied to host memory. The rows may change as soon as this returns.
NVC_API int nvc_encoder_encode_gpu(NvcEncoder* encoder, int gpu, const NvcGpuRows* rows,
                                   int num_rows, int64_t timestamp, int force_key);
// The first function returns the stream that reads frames of GPU `gpu`. The second makes that
// stream wait for the work now queued on `stream`. Streams are numbered as in DLPack.
NVC_API int nvc_encoder_gpu_stream(NvcEncoder* encoder, int gpu, int64_t* stream);
NVC_API int nvc_encoder_wait_for(NvcEncoder* encoder, int gpu, int64_t stream);
NVC_API int nvc_encoder_finish(NvcEncoder* encoder);
// Returns the next packet, with a null `data` if none is ready.
NVC_API int nvc_encoder_packet(NvcEncoder* encoder, NvcPacket* out);
NVC_API int nvc_encoder_parameter_sets(NvcEncoder* encoder, const uint8_t** data, uint64_t* size);
NVC_API int nvc_encoder_set_rate(NvcEncoder* encoder, int64_t bitrate, int64_t max_bitrate,
                                 int64_t vbv_size, int32_t fps_num, int32_t fps_den);
// Returns whether NVENC is the default, for a caller that does not choose an encoder.
NVC_API int nvc_nvenc_is_on();
// Finds the GPU that owns the memory at `address`.
NVC_API int nvc_gpu_of_memory(uint64_t address, int32_t* gpu);
// Checks that libavcodec's `encoder` has these `count` options and accepts their values.
NVC_API int nvc_encoder_check_options(const char* encoder, const char* const* names,
                                      const char* const* values, int count);

#endif  // TF_NVCODEC_CAPI_ENCODER_H_
