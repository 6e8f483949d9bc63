// Finds the packets in an elementary stream that comes in pieces, cut anywhere.
#ifndef TF_NVCODEC_CAPI_PACKET_PARSER_H_
#define TF_NVCODEC_CAPI_PACKET_PARSER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

class PacketParser {
 public:
  using Take = std::function<absl::Status(const AVPacket& packet)>;

  // Returns Unimplemented if this FFmpeg has no parser for the codec.
  static absl::StatusOr<std::unique_ptr<PacketParser>> Create(AVCodecID codec);

  // Passes each packet that is now complete to `take`. After the last one, returns the first error
  // that `take` returned.
  absl::Status Parse(const AVPacket& piece, const Take& take);
  // Passes on the last packet, whose end only the end of the stream marks.
  absl::Status Finish(const Take& take);

 private:
  struct ParserDeleter {
    void operator()(AVCodecParserContext* parser) const { av_parser_close(parser); }
  };

  absl::Status Feed(const uint8_t* data, int size, const AVPacket& piece, const Take& take);

  AvCodecContextPtr context_;
  std::unique_ptr<AVCodecParserContext, ParserDeleter> parser_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_PACKET_PARSER_H_
