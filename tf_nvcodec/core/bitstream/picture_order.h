// Tells in which order a stream of H.264 or HEVC has its pictures shown, by their picture order
// counts. Containers may give other times: those of decoding, when they took the stream from an
// AVI.
#ifndef TF_NVCODEC_CORE_BITSTREAM_PICTURE_ORDER_H_
#define TF_NVCODEC_CORE_BITSTREAM_PICTURE_ORDER_H_

#include <cstdint>
#include <memory>

#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// Reads the counts by FFmpeg's parsers (H.264, 8.2.1; HEVC, 8.3.1), which get every packet in
// decoding order.
class PictureOrder {
 public:
  explicit PictureOrder(const AVCodecParameters& codec);

  // Counts begin anew with the next picture: it is an IDR picture.
  void StartSequence() { ++sequence_; }
  // Returns PacketInfo::order of the packet's first picture.
  int64_t Of(const AVPacket& packet);

 private:
  struct ParserDeleter {
    void operator()(AVCodecParserContext* parser) const { av_parser_close(parser); }
  };
  AvCodecContextPtr context_;
  std::unique_ptr<AVCodecParserContext, ParserDeleter> parser_;
  int64_t sequence_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PICTURE_ORDER_H_
