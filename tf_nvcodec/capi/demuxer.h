// The C API's demuxer: packets of a container's video stream and, if wanted, of its sound.
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

// What a decoder must know of the packets' stream.
struct PacketStream {
  AvCodecParametersPtr codec;  // describes the packets after conversion
  AVRational time_base{0, 1};
};

}  // namespace nvc

// nvc_demuxer_get_info fills this. Python's ctypes mirrors it field by field.
struct nvc_stream_info {
  char codec[32], container[64], pixel_format[32];  // FFmpeg's names
  int64_t frame_bytes;  // of a frame that the decoder returns; 0: it returns none
  int32_t nv_codec;     // a cudaVideoCodec; -1: NVDEC has no such codec
  int32_t width, height;
  int32_t chroma_format;  // a cudaVideoChromaFormat; -1: none of its values
  int32_t bit_depth;
  int32_t color_space, color_range;  // an AVColorSpace and an AVColorRange
  int32_t time_base_num, time_base_den;
  int32_t frame_rate_num, frame_rate_den;    // average; 0: unknown
  int32_t lowest_rate_num, lowest_rate_den;  // lowest rate that has every timestamp; 0: unknown
  int32_t stream_index;
};

struct nvc_packet_info {
  int64_t pts, dts, duration;  // in the stream's time base; -2^63: not in the container
  int64_t pos;                 // byte position in the container; -1: unknown
  uint64_t data;
  int64_t size;
  int32_t is_key, is_discarded;
  int32_t stream_index;
};

// Describes one audio track. A stream_index of -1 means that there is no such track.
struct nvc_sound_info {
  int32_t stream_index;
  int32_t time_base_num, time_base_den;
};

struct nvc_packet {
  nvc::AvPacketPtr packet;
  std::shared_ptr<const nvc::PacketStream> stream;  // null for a packet of sound
};

struct nvc_demuxer {
  nvc_source source;
  std::unique_ptr<nvc::Demuxer> demuxer;
  std::unique_ptr<nvc::ElementaryPackets> packets;
  std::shared_ptr<const nvc::PacketStream> stream;
  std::vector<nvc::SoundTrack> sound;
  bool told_damage = false;
};

// Opens the source. The demuxer keeps what it needs of `source`, so the caller may free it.
NVC_API int nvc_demuxer_open(const nvc_source* source, nvc_demuxer** demuxer);
NVC_API void nvc_demuxer_free(nvc_demuxer* demuxer);
NVC_API int nvc_demuxer_get_info(const nvc_demuxer* demuxer, nvc_stream_info* info);
// Reads the next packet. Sets `packet` to null at the end. If the container ends early, the end is
// once reported as DataLoss.
NVC_API int nvc_demuxer_next(nvc_demuxer* demuxer, nvc_packet** packet, nvc_packet_info* info);
// Describes the audio track number `track`, counted from 0.
NVC_API int nvc_demuxer_sound(const nvc_demuxer* demuxer, int32_t track, nvc_sound_info* info);
// Makes nvc_demuxer_next return packets of sound too, from now on.
NVC_API int nvc_demuxer_keep_sound(nvc_demuxer* demuxer);
NVC_API int nvc_demuxer_seek(nvc_demuxer* demuxer, int64_t timestamp);
NVC_API void nvc_packet_free(nvc_packet* packet);

#endif  // TF_NVCODEC_CAPI_DEMUXER_H_
