// The C API's reader: returns any frames of an indexed file.
#ifndef TF_NVCODEC_CAPI_READER_H_
#define TF_NVCODEC_CAPI_READER_H_

#include <cstdint>

#include "tf_nvcodec/capi/decoder.h"
#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/capi/frame.h"
#include "tf_nvcodec/capi/source.h"

// Python's ctypes mirrors these structures field by field.
struct nvc_reader_info {
  char codec[32];  // FFmpeg's name
  int64_t num_frames, num_packets;
  int64_t size;                 // bytes of the file
  double frame_rate, duration;  // average frames per second; seconds
  int32_t width, height;
};
struct nvc_reader_packet {
  int64_t pts, dts;  // in the stream's time base; -2^63: none
  int64_t frame;     // display index of its frame; -1: it shows none
  int32_t size;
  int32_t is_key;  // a random access point: all frames after it decode exactly
};

struct nvc_reader;

// Reads the source once and indexes it. The reader keeps what it needs of `source`, so the caller
// may free it. Ignores the options' codec and latency.
NVC_API int nvc_reader_open(const nvc_source* source, const nvc_decoder_options* options,
                            nvc_reader** reader);
NVC_API void nvc_reader_free(nvc_reader* reader);
NVC_API void nvc_reader_get_info(const nvc_reader* reader, nvc_reader_info* info);
// `packets` must have room for num_packets packets, which come in decoding order.
NVC_API void nvc_reader_get_packets(const nvc_reader* reader, nvc_reader_packet* packets);
// Finds the frame that is on screen at `seconds` of the stream's own time, or one that appears
// within `tolerance` seconds after that.
NVC_API int nvc_reader_frame_at(const nvc_reader* reader, double seconds, double tolerance,
                                int64_t* index);
// Reads all frames in the order of `indices`, duplicates included, or none of them. Returns
// OutOfRange for an index beyond the frames, and DataLoss for a damaged frame.
NVC_API int nvc_reader_read(nvc_reader* reader, const int64_t* indices, int64_t count,
                            nvc_frame** frames);

#endif  // TF_NVCODEC_CAPI_READER_H_
