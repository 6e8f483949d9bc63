#include "tf_nvcodec/capi/packet_parser.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/ffmpeg/av_log.h"

namespace nvc {
namespace {

// Returns whether the packet that the parser found last is a key frame. The parsers of MPEG-1,
// MPEG-2 and JPEG do not set `key_frame`.
bool IsKey(const AVCodecParserContext& parser, AVCodecID codec) {
  const AVCodecDescriptor* const described = avcodec_descriptor_get(codec);
  if (described != nullptr && (described->props & AV_CODEC_PROP_INTRA_ONLY) != 0) return true;
  return parser.key_frame == 1 || (parser.key_frame < 0 && parser.pict_type == AV_PICTURE_TYPE_I);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PacketParser>> PacketParser::Create(AVCodecID codec) {
  auto parser = std::make_unique<PacketParser>();
  parser->parser_.reset(av_parser_init(codec));
  if (parser->parser_ == nullptr) {
    return absl::UnimplementedError(absl::StrCat("this FFmpeg has no parser for codec '",
                                                 avcodec_get_name(codec),
                                                 "': pass the packets of a demuxer"));
  }
  parser->context_.reset(avcodec_alloc_context3(avcodec_find_decoder(codec)));
  if (parser->context_ == nullptr) return absl::ResourceExhaustedError("out of memory");
  parser->context_->codec_id = codec;
  return parser;
}

absl::Status PacketParser::Parse(const AVPacket& piece, const Take& take) {
  return Feed(piece.data, piece.size, piece, take);
}

absl::Status PacketParser::Finish(const Take& take) {
  AvPacketPtr none(av_packet_alloc());
  if (none == nullptr) return absl::ResourceExhaustedError("out of memory");
  return Feed(nullptr, 0, *none, take);
}

absl::Status PacketParser::Feed(const uint8_t* data, int size, const AVPacket& piece,
                                const Take& take) {
  AvLogScope log;
  absl::Status first;
  int64_t pts = piece.pts, dts = piece.dts;
  do {
    uint8_t* begin = nullptr;
    int length = 0;
    const int used = av_parser_parse2(parser_.get(), context_.get(), &begin, &length, data, size,
                                      pts, dts, piece.pos);
    if (used < 0) return FfmpegError(used, absl::StrCat("parsing packets", log.Detail()));
    data += used;
    size -= used;
    pts = dts = AV_NOPTS_VALUE;
    if (length > 0) {
      AvPacketPtr packet(av_packet_alloc());
      if (packet == nullptr || av_new_packet(packet.get(), length) < 0) {
        return absl::ResourceExhaustedError("out of memory parsing packets");
      }
      std::memcpy(packet->data, begin, static_cast<size_t>(length));
      packet->pts = parser_->pts;
      packet->dts = parser_->dts;
      packet->pos = parser_->pos;
      if (IsKey(*parser_, context_->codec_id)) packet->flags |= AV_PKT_FLAG_KEY;
      const absl::Status taken = take(*packet);
      if (first.ok()) first = taken;
    } else if (used == 0) {
      break;
    }
  } while (size > 0);
  return first;
}

}  // namespace nvc
