// Finds the packets in the pieces of an elementary stream, cut anywhere.
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

  // Unimplemented: no parser for this codec in this FFmpeg.
  static absl::StatusOr<std::unique_ptr<PacketParser>> Create(AVCodecID codec);

  // Hands each packet that is now complete to `take`; the first error of those that it returned,
  // after all of them.
  absl::Status Parse(const AVPacket& piece, const Take& take);
  // The packet that nothing ended so far.
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
