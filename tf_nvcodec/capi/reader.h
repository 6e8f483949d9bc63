// Any frames of an indexed file, for Python.
#ifndef TF_NVCODEC_CAPI_READER_H_
#define TF_NVCODEC_CAPI_READER_H_

#include <cstdint>

#include "tf_nvcodec/capi/decoder.h"
#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/capi/frame.h"
#include "tf_nvcodec/capi/source.h"

// ctypes mirrors these field by field.
struct nvc_reader_info {
  char codec[32];  // FFmpeg's name
  int64_t num_frames, num_packets;
  int64_t size;                 // bytes of the whole file
  double frame_rate, duration;  // average; seconds
  int32_t width, height;
};
struct nvc_reader_packet {
  int64_t pts, dts;  // in the stream's time base; -2^63: none
  int64_t frame;     // display index of the frame that it shows; -1: none
  int32_t size;
  int32_t is_key;  // decoding may begin here, and all that comes after it is exact
};

struct nvc_reader;

// Indexes the source, which takes reading it once. Keeps what it needs of `source`. The options'
// codec and latency don't matter.
NVC_API int nvc_reader_open(const nvc_source* source, const nvc_decoder_options* options,
                            nvc_reader** reader);
NVC_API void nvc_reader_free(nvc_reader* reader);
NVC_API void nvc_reader_get_info(const nvc_reader* reader, nvc_reader_info* info);
// `packets`: num_packets of them, in decoding order.
NVC_API void nvc_reader_get_packets(const nvc_reader* reader, nvc_reader_packet* packets);
// The frame on screen that many seconds into the stream's own time.
NVC_API int nvc_reader_frame_at(const nvc_reader* reader, double seconds, int64_t* index);
// All of them, in that order, duplicates too, or none: OutOfRange for an index that there is none
// of, DataLoss for a frame that is damaged.
NVC_API int nvc_reader_read(nvc_reader* reader, const int64_t* indices, int64_t count,
                            nvc_frame** frames);

#endif  // TF_NVCODEC_CAPI_READER_H_
