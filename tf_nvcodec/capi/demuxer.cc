#include "tf_nvcodec/capi/demuxer.h"

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/elementary_packets.h"
#include "tf_nvcodec/core/convert/surface.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/nv/cuda/driver.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

template <size_t kSize>
void CopyText(absl::string_view from, char (&to)[kSize]) {
  const size_t size = from.size() < kSize ? from.size() : kSize - 1;
  std::memcpy(to, from.data(), size);
  to[size] = '\0';
}

absl::Status Open(const nvc_source& source, nvc_demuxer** out) {
  auto opened = std::make_unique<nvc_demuxer>();
  opened->source = source;
  NVC_ASSIGN_OR_RETURN(opened->demuxer, Demuxer::Open(*source.bytes, /*cancelled=*/nullptr,
                                                      Demuxer::Look::kEverything));
  const StreamInfo& stream = opened->demuxer->stream();
  NVC_ASSIGN_OR_RETURN(opened->packets, ElementaryPackets::Create(*stream.codec, stream.time_base));
  auto described = std::make_shared<PacketStream>();
  described->time_base = stream.time_base;
  NVC_ASSIGN_OR_RETURN(described->codec, CopyOf(opened->packets->codec()));
  opened->stream = std::move(described);
  NVC_ASSIGN_OR_RETURN(opened->sound, opened->demuxer->Sound());
  *out = opened.release();
  return absl::OkStatus();
}

int32_t ChromaFormat(const AVPixFmtDescriptor& about) {
  if (about.nb_components <= 2) return cudaVideoChromaFormat_Monochrome;
  if ((about.flags & AV_PIX_FMT_FLAG_RGB) != 0) return -1;
  if (about.log2_chroma_w == 1 && about.log2_chroma_h == 1) return cudaVideoChromaFormat_420;
  if (about.log2_chroma_w == 1 && about.log2_chroma_h == 0) return cudaVideoChromaFormat_422;
  if (about.log2_chroma_w == 0 && about.log2_chroma_h == 0) return cudaVideoChromaFormat_444;
  return -1;
}

void Describe(const StreamInfo& stream, nvc_stream_info* info) {
  const AVCodecParameters& codec = *stream.codec;
  *info = nvc_stream_info{};
  CopyText(avcodec_get_name(codec.codec_id), info->codec);
  CopyText(stream.container, info->container);
  info->nv_codec = FactsOf(codec.codec_id).nvdec.id;
  info->width = codec.width;
  info->height = codec.height;
  info->chroma_format = -1;
  info->bit_depth = codec.bits_per_raw_sample > 0 ? codec.bits_per_raw_sample : 8;
  const auto samples = static_cast<AVPixelFormat>(codec.format);
  if (const AVPixFmtDescriptor* about = av_pix_fmt_desc_get(samples)) {
    CopyText(about->name, info->pixel_format);
    info->chroma_format = ChromaFormat(*about);
    info->bit_depth = about->comp[0].depth;
    const auto layout =
        SurfaceLayout::Of(samples, SurfaceColor::kNative, codec.width, codec.height);
    info->frame_bytes = layout.ok() ? static_cast<int64_t>(layout->bytes) : 0;
  }
  info->color_space = codec.color_space;
  info->color_range = codec.color_range;
  info->time_base_num = stream.time_base.num;
  info->time_base_den = stream.time_base.den;
  info->frame_rate_num = stream.frame_rate.num;
  info->frame_rate_den = stream.frame_rate.den;
  info->lowest_rate_num = stream.lowest_rate.num;
  info->lowest_rate_den = stream.lowest_rate.den;
  info->stream_index = stream.index;
}

absl::Status Next(nvc_demuxer* self, nvc_packet** out, nvc_packet_info* info) {
  *out = nullptr;
  *info = nvc_packet_info{};
  auto next = std::make_unique<nvc_packet>();
  next->packet.reset(av_packet_alloc());
  if (next->packet == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
  AVPacket& packet = *next->packet;
  NVC_ASSIGN_OR_RETURN(const bool is_there, self->demuxer->Next(&packet));
  if (!is_there) {
    const std::string& damage = self->demuxer->damage();
    if (damage.empty() || std::exchange(self->told_damage, true)) return absl::OkStatus();
    return absl::DataLossError("contents end early: " + damage);
  }
  if (packet.stream_index == self->demuxer->stream().index) {
    const int64_t pos = packet.pos, pts = packet.pts;
    const absl::Status converted = self->packets->Convert(&packet);
    if (!converted.ok()) {
      return absl::Status(converted.code(),
                          absl::StrCat("the packet at byte ", pos, " with timestamp ", pts, ": ",
                                       converted.message()));
    }
    next->stream = self->stream;
  }
  info->stream_index = packet.stream_index;
  info->pts = packet.pts;
  info->dts = packet.dts;
  info->duration = packet.duration;
  info->pos = packet.pos;
  info->data = reinterpret_cast<uint64_t>(packet.data);
  info->size = packet.size;
  info->is_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  info->is_discarded = (packet.flags & AV_PKT_FLAG_DISCARD) != 0;
  *out = next.release();
  return absl::OkStatus();
}

absl::Status Seek(nvc_demuxer* self, int64_t timestamp) {
  NVC_RETURN_IF_ERROR(self->demuxer->Seek(timestamp));
  self->packets->Reset(absl::StrContains(self->demuxer->stream().container, "mov"));
  self->told_damage = false;
  return absl::OkStatus();
}

}  // namespace
}  // namespace nvc

int nvc_demuxer_open(const nvc_source* source, nvc_demuxer** demuxer) {
  return nvc::Guarded([&] { return source->Named(nvc::Open(*source, demuxer)); });
}

void nvc_demuxer_free(nvc_demuxer* demuxer) { delete demuxer; }

int nvc_demuxer_get_info(const nvc_demuxer* demuxer, nvc_stream_info* info) {
  return nvc::Guarded([&] {
    nvc::Describe(demuxer->demuxer->stream(), info);
    return absl::OkStatus();
  });
}

int nvc_demuxer_next(nvc_demuxer* demuxer, nvc_packet** packet, nvc_packet_info* info) {
  return nvc::Guarded([&] { return demuxer->source.Named(nvc::Next(demuxer, packet, info)); });
}

int nvc_demuxer_sound(const nvc_demuxer* demuxer, int32_t track, nvc_sound_info* info) {
  return nvc::Guarded([&] {
    *info = {-1, 0, 1};
    if (track < 0 || static_cast<size_t>(track) >= demuxer->sound.size()) return absl::OkStatus();
    const nvc::SoundTrack& sound = demuxer->sound[track];
    *info = {sound.index, sound.time_base.num, sound.time_base.den};
    return absl::OkStatus();
  });
}

int nvc_demuxer_keep_sound(nvc_demuxer* demuxer) {
  return nvc::Guarded([&] {
    demuxer->demuxer->KeepSound();
    return absl::OkStatus();
  });
}

int nvc_demuxer_seek(nvc_demuxer* demuxer, int64_t timestamp) {
  return nvc::Guarded([&] { return demuxer->source.Named(nvc::Seek(demuxer, timestamp)); });
}

void nvc_packet_free(nvc_packet* packet) { delete packet; }
