// The C API's decoder: packets in, frames out.
#ifndef TF_NVCODEC_CAPI_DECODER_H_
#define TF_NVCODEC_CAPI_DECODER_H_

#include <cstdint>

#include "tf_nvcodec/capi/demuxer.h"
#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/capi/frame.h"

// Python's ctypes mirrors these structures field by field.
struct nvc_decoder_options {
  uint64_t cuda_context, cuda_stream;  // 0: none is given
  int32_t codec;                       // a cudaVideoCodec; -1: the codec of the packets' stream
  int32_t gpu;
  int32_t backend;  // 0: NVDEC if it can, else FFmpeg; 1: FFmpeg; 2: NVDEC
  int32_t device_memory;
  int32_t max_width, max_height;  // 0: no limit
  int32_t color;                  // an OutputColorType
  int32_t low_latency;
};
struct nvc_packet_input {
  const void* data;
  int64_t size;
  int64_t pts, dts, pos;
  int32_t is_key, is_discarded;
  const nvc_packet* packet;  // the packet of `data`; null: a piece of an elementary stream
};
struct nvc_decoder_caps {
  int64_t max_macroblocks;
  int32_t num_engines;  // 0: FFmpeg decodes
  int32_t min_width, min_height, max_width, max_height;
};

struct nvc_decoder;

NVC_API int nvc_decoder_create(const nvc_decoder_options* options, nvc_decoder** decoder);
NVC_API void nvc_decoder_free(nvc_decoder* decoder);
// Decodes one packet. A null `input` means that no more packets come; all remaining frames then
// come out. Sets `num_frames` to the number of frames that the caller can take, after an error too.
NVC_API int nvc_decoder_decode(nvc_decoder* decoder, const nvc_packet_input* input,
                               int64_t* num_frames);
// Returns null if no frame is ready.
NVC_API nvc_frame* nvc_decoder_take_frame(nvc_decoder* decoder);
// Returns Unimplemented if the GPU, or FFmpeg on a machine without one, does not decode such
// streams.
NVC_API int nvc_decoder_get_caps(int gpu, int codec, int chroma_format, int bit_depth,
                                 nvc_decoder_caps* caps);
NVC_API int nvc_gpu_count();  // 0 without a driver too

#endif  // TF_NVCODEC_CAPI_DECODER_H_
