// One of FFmpeg's bitstream filters: packets in, packets out.
#ifndef TF_NVCODEC_CORE_FFMPEG_BITSTREAM_FILTER_H_
#define TF_NVCODEC_CORE_FFMPEG_BITSTREAM_FILTER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#if __has_include(<libavcodec/bsf.h>)
#include <libavcodec/bsf.h>
#endif
#include <libavcodec/avcodec.h>
}

namespace nvc {

class BitstreamFilter {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;

  // For packets of `stream`, whose times are in `time_base`. Unimplemented when this machine's
  // FFmpeg has no filter of that name, InvalidArgument when the filter can't read the stream's
  // headers or takes no such option.
  static absl::StatusOr<BitstreamFilter> Create(const char* name, const AVCodecParameters& stream,
                                                AVRational time_base, const Options& options = {});

  // The stream as it is after the filter, and its headers: empty when it has none.
  const AVCodecParameters& codec() const { return *context_->par_out; }
  absl::Span<const uint8_t> headers() const;

  // Takes `packet`, which is blank afterwards, and drops what is left of the one before. DataLoss
  // when the packet is broken.
  absl::Status Send(AVPacket* packet);
  // What comes out next; false when nothing does before the next Send. DataLoss when the packet is
  // broken: the rest of it is lost, and the filter takes the next one.
  absl::StatusOr<bool> Receive(AVPacket* packet);
  // Both, of a filter that makes one packet of each, in place.
  absl::Status Filter(AVPacket* packet);
  // Forgets the packets before.
  void Reset() { av_bsf_flush(context_.get()); }

 private:
  struct Deleter {
    void operator()(AVBSFContext* context) const { av_bsf_free(&context); }
  };

  std::unique_ptr<AVBSFContext, Deleter> context_;
  AvPacketPtr dropped_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_BITSTREAM_FILTER_H_
