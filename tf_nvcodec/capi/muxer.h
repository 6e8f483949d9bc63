// The C API's muxer: writes packets of an elementary stream, and sound of another file, to a file.
#ifndef TF_NVCODEC_CAPI_MUXER_H_
#define TF_NVCODEC_CAPI_MUXER_H_

#include <cstdint>

#include "tf_nvcodec/capi/demuxer.h"
#include "tf_nvcodec/capi/export.h"

// Describes the file. Strings end with 0. An fps_num of 0 means that the frame rate varies.
struct NvcMuxerConfig {
  const char* path;
  const char* container;
  const char* codec;
  const void* parameter_sets;
  uint64_t parameter_sets_size;
  int32_t width, height;
  int32_t time_num, time_den;
  int32_t fps_num, fps_den;
};

struct NvcMuxer;

NVC_API int nvc_muxer_new(const NvcMuxerConfig* config, NvcMuxer** out);
// Without nvc_muxer_finish, the file stays incomplete.
NVC_API void nvc_muxer_free(NvcMuxer* muxer);
// Call both before the first packet. The first copies the tags of the demuxer's video, and its
// colour tags only if `keep_colors` is set. The second adds an audio track of the demuxer.
NVC_API int nvc_muxer_set_tags(NvcMuxer* muxer, const nvc_demuxer* demuxer, int keep_colors);
NVC_API int nvc_muxer_add_sound(NvcMuxer* muxer, const nvc_demuxer* demuxer, int32_t track);
NVC_API int nvc_muxer_write(NvcMuxer* muxer, const void* data, uint64_t size, int64_t pts,
                            int64_t dts, int64_t duration, int key);
// Writes a packet of an added track, moved back by `start` in the muxer's time base.
NVC_API int nvc_muxer_write_sound(NvcMuxer* muxer, const nvc_packet* packet, int64_t start);
NVC_API int nvc_muxer_finish(NvcMuxer* muxer);

#endif  // TF_NVCODEC_CAPI_MUXER_H_
