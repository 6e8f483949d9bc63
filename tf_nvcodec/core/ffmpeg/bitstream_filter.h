// Runs packets through one of FFmpeg's bitstream filters.
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
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

namespace nvc {

class BitstreamFilter {
 public:
  using Options = std::vector<std::pair<std::string, std::string>>;

  // Makes the filter `name` for packets of `stream`, whose times are in `time_base`. Returns
  // Unimplemented when this machine's FFmpeg has no such filter, and InvalidArgument when the
  // filter can't read the stream's headers or has no such option.
  static absl::StatusOr<BitstreamFilter> Create(const char* name, const AVCodecParameters& stream,
                                                AVRational time_base, const Options& options = {});

  // The parameters of the stream after the filter, and its extradata, which may be empty.
  const AVCodecParameters& codec() const { return *context_->par_out; }
  absl::Span<const uint8_t> headers() const;

  // Takes `packet`, which is blank afterwards. Drops what the filter has not yet returned of the
  // packet before. Returns DataLoss when the packet is broken.
  absl::Status Send(AVPacket* packet);
  // Fetches the next filtered packet. Returns false when there is none before the next Send.
  // Returns DataLoss when the packet is broken: the rest of it is lost, and the filter accepts the
  // next one.
  absl::StatusOr<bool> Receive(AVPacket* packet);
  // Filters `packet` in place, with a filter that makes exactly one packet of each.
  absl::Status Filter(AVPacket* packet);
  // Forgets all packets sent before.
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
