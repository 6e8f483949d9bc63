// What FFmpeg's releases from 5.1 to 9 call differently. All checks of FFmpeg's version are here.
#ifndef TF_NVCODEC_CORE_FFMPEG_FFMPEG_RELEASES_H_
#define TF_NVCODEC_CORE_FFMPEG_FFMPEG_RELEASES_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// FFmpeg 5 and later. avcodec.h has its contents before that.
#if __has_include(<libavcodec/bsf.h>)
#include <libavcodec/bsf.h>
#endif
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
}

#define NVC_FRAME_HAS_DURATION (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100))    // 6.0
#define NVC_FRAME_HAS_FLAGS (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100))        // 6.1
#define NVC_CODEC_HAS_SIDE_DATA (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102))  // 6.1
#define NVC_CODEC_HAS_CONFIG (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100))     // 7.1
#define NVC_PACKET_OPAQUE_REACHES_FRAME (LIBAVCODEC_VERSION_MAJOR >= 61)                 // 7.0

namespace nvc {

// What a muxer's write callback gets, from FFmpeg 7.0 on as const.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using AvioWrittenByte = const uint8_t;
#else
using AvioWrittenByte = uint8_t;
#endif

inline bool IsInterlaced(const AVFrame& frame) {
#if NVC_FRAME_HAS_FLAGS
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return frame.interlaced_frame != 0;
#endif
}

inline bool IsTopFieldFirst(const AVFrame& frame) {
#if NVC_FRAME_HAS_FLAGS
  return (frame.flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
#else
  return frame.top_field_first != 0;
#endif
}

inline void SetFields(bool interlaced, bool top_first, AVFrame* frame) {
#if NVC_FRAME_HAS_FLAGS
  frame->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
  if (interlaced) frame->flags |= AV_FRAME_FLAG_INTERLACED;
  if (top_first) frame->flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  frame->interlaced_frame = interlaced;
  frame->top_field_first = top_first;
#endif
}

inline bool IsKeyFrame(const AVFrame& frame) {
#if NVC_FRAME_HAS_FLAGS
  return (frame.flags & AV_FRAME_FLAG_KEY) != 0;
#else
  return frame.key_frame != 0;
#endif
}

// The `pos` of the packet that the frame begins in, or -1. From 7.0 on, a decoder copies the
// packet's opaque to its frames. Frames of NVDEC use that field for something else, and have no
// dts.
inline int64_t PacketPos(const AVFrame& frame) {
#if NVC_PACKET_OPAQUE_REACHES_FRAME
  if (frame.format == AV_PIX_FMT_CUDA) return frame.pkt_dts;
  return reinterpret_cast<intptr_t>(frame.opaque) - 1;
#else
  return frame.pkt_pos;
#endif
}

inline void SetDuration(int64_t duration, AVFrame* frame) {
#if NVC_FRAME_HAS_DURATION
  frame->duration = duration;
#else
  frame->pkt_duration = duration;
#endif
}

// For a frame of NVDEC.
inline void SetPacketPos(int64_t pos, AVFrame* frame) {
#if NVC_PACKET_OPAQUE_REACHES_FRAME
  frame->pkt_dts = pos;
#else
  frame->pkt_pos = pos;
#endif
}

// Has the frames of this decoder tell PacketPos, if every packet goes through NamePacket before it
// is sent.
inline void KeepPacketPos(AVCodecContext* decoder) {
#if NVC_PACKET_OPAQUE_REACHES_FRAME
  decoder->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#endif
}

inline void NamePacket(const AVPacket* packet) {
#if NVC_PACKET_OPAQUE_REACHES_FRAME
  // No part of what the packet says: FFmpeg leaves this field to its callers.
  if (packet != nullptr) {
    const_cast<AVPacket*>(packet)->opaque = reinterpret_cast<void*>(intptr_t{packet->pos + 1});
  }
#endif
}

// Whether decoders crop exactly. Up to 6.1 the ffmpeg program keeps the pixels that a crop at the
// left would make unaligned, as the libraries do unless told otherwise. Frames here are the
// program's.
inline constexpr bool kCropsExactly = LIBAVCODEC_VERSION_MAJOR >= 61;

// Lets frame threads call get_buffer2. Otherwise, before FFmpeg 6, they let the thread that sends
// packets call it, and wait for it.
inline void AllowCallsByFrameThreads(AVCodecContext* decoder) {
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  decoder->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
}

// The stream's display matrix, or null.
inline const uint8_t* DisplayMatrix(const AVStream& stream) {
#if NVC_CODEC_HAS_SIDE_DATA
  const AVCodecParameters& codec = *stream.codecpar;
  const AVPacketSideData* const found = av_packet_side_data_get(
      codec.coded_side_data, codec.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return found == nullptr ? nullptr : found->data;
#else
  return av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr);
#endif
}

// Room for the stream's display matrix, or null if memory is short.
inline uint8_t* NewDisplayMatrix(size_t bytes, AVStream* stream) {
#if NVC_CODEC_HAS_SIDE_DATA
  AVCodecParameters* const codec = stream->codecpar;
  AVPacketSideData* const made =
      av_packet_side_data_new(&codec->coded_side_data, &codec->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX, bytes, /*flags=*/0);
  return made == nullptr ? nullptr : made->data;
#else
  return av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, bytes);
#endif
}

// Whether a video encoder takes pictures of this format.
inline bool TakesFormat(const AVCodec* encoder, AVPixelFormat format) {
#if NVC_CODEC_HAS_CONFIG
  const void* formats = nullptr;
  if (avcodec_get_supported_config(nullptr, encoder, AV_CODEC_CONFIG_PIX_FORMAT, /*flags=*/0,
                                   &formats, nullptr) < 0) {
    return false;
  }
  const auto* taken = static_cast<const AVPixelFormat*>(formats);
#else
  const AVPixelFormat* taken = encoder->pix_fmts;
#endif
  if (taken == nullptr) return true;  // it has no list
  while (*taken != AV_PIX_FMT_NONE && *taken != format) ++taken;
  return *taken == format;
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_FFMPEG_RELEASES_H_
