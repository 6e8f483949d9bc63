// One of FFmpeg's bitstream filters that turns each packet into one packet.
#ifndef TF_NVCODEC_CORE_PACKET_FILTER_H_
#define TF_NVCODEC_CORE_PACKET_FILTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode_options.h"

extern "C" {
#include <libavcodec/bsf.h>
}

namespace nvc {

class PacketFilter {
 public:
  // For packets of a stream as `encoder` makes it, or `stream` describes it. Unimplemented when
  // this machine's FFmpeg lacks the filter.
  static absl::StatusOr<std::unique_ptr<PacketFilter>> Create(const char* name,
                                                              const CodecOptions& options,
                                                              const AVCodecContext& encoder);
  static absl::StatusOr<std::unique_ptr<PacketFilter>> Create(const char* name,
                                                              const CodecOptions& options,
                                                              const AVCodecParameters& stream,
                                                              AVRational time_base);
  ~PacketFilter() { av_bsf_free(&context_); }
  PacketFilter(const PacketFilter&) = delete;
  PacketFilter& operator=(const PacketFilter&) = delete;

  absl::Status Filter(AVPacket* packet);
  // The stream's parameter sets after the filter.
  std::string extradata() const;

 private:
  PacketFilter() = default;
  AVBSFContext* context_ = nullptr;
};

// The parameter sets among the bytes of a packet of `stream`, "" when it has none.
absl::StatusOr<std::string> ParameterSetsIn(const AVPacket& packet,
                                            const AVCodecParameters& stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_PACKET_FILTER_H_
