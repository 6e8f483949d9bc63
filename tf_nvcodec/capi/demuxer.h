// Packets of a container's video stream, for Python.
#ifndef TF_NVCODEC_CAPI_DEMUXER_H_
#define TF_NVCODEC_CAPI_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/capi/source.h"
#include "tf_nvcodec/core/bitstream/elementary_packets.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// What a decoder has to know of the stream that packets are of.
struct PacketStream {
  AvCodecParametersPtr codec;  // as of the converted packets
  AVRational time_base{0, 1};
};

}  // namespace nvc

// Filled by nvc_demuxer_get_info; ctypes mirrors it field by field.
struct nvc_stream_info {
  char codec[32], container[64], pixel_format[32];  // FFmpeg's names
  int64_t frame_bytes;  // of a frame as the decoder gives it; 0: it gives none
  int32_t nv_codec;     // cudaVideoCodec; -1: none of NVDEC's
  int32_t width, height;
  int32_t chroma_format;  // cudaVideoChromaFormat; -1: neither of them
  int32_t bit_depth;
  int32_t color_space, color_range;  // AVColorSpace, AVColorRange
  int32_t time_base_num, time_base_den;
  int32_t frame_rate_num, frame_rate_den;    // average; 0 when unknown
  int32_t lowest_rate_num, lowest_rate_den;  // that has every timestamp; 0 when unknown
  int32_t stream_index;
};

struct nvc_packet_info {
  int64_t pts, dts, duration;  // in the stream's time base; -2^63: the container does not say
  int64_t pos;                 // in the container; -1 when unknown
  uint64_t data;
  int64_t size;
  int32_t is_key, is_discarded;
  int32_t stream_index;
};

// Of one track; stream_index -1: there is no such track.
struct nvc_sound_info {
  int32_t stream_index;
  int32_t time_base_num, time_base_den;
};

struct nvc_packet {
  nvc::AvPacketPtr packet;
  std::shared_ptr<const nvc::PacketStream> stream;  // null: of sound
};

struct nvc_demuxer {
  nvc_source source;
  std::unique_ptr<nvc::Demuxer> demuxer;
  std::unique_ptr<nvc::ElementaryPackets> packets;
  std::shared_ptr<const nvc::PacketStream> stream;
  std::vector<nvc::SoundTrack> sound;
  bool told_damage = false;
};

// Keeps what it needs of `source`.
NVC_API int nvc_demuxer_open(const nvc_source* source, nvc_demuxer** demuxer);
NVC_API void nvc_demuxer_free(nvc_demuxer* demuxer);
NVC_API int nvc_demuxer_get_info(const nvc_demuxer* demuxer, nvc_stream_info* info);
// No packet at the end. DataLoss, once, where the container ends early.
NVC_API int nvc_demuxer_next(nvc_demuxer* demuxer, nvc_packet** packet, nvc_packet_info* info);
// The `track`-th track of sound.
NVC_API int nvc_demuxer_sound(const nvc_demuxer* demuxer, int32_t track, nvc_sound_info* info);
// From now on nvc_demuxer_next gives packets of sound too.
NVC_API int nvc_demuxer_keep_sound(nvc_demuxer* demuxer);
NVC_API int nvc_demuxer_seek(nvc_demuxer* demuxer, int64_t timestamp);
NVC_API void nvc_packet_free(nvc_packet* packet);

#endif  // TF_NVCODEC_CAPI_DEMUXER_H_
