// Packets as NVDEC's parser reads them: H.264 and HEVC with start codes, MPEG-4 one picture each.
#ifndef TF_NVCODEC_NV_NVDEC_PACKETS_H_
#define TF_NVCODEC_NV_NVDEC_PACKETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/av_ptr.h"

extern "C" {
#if __has_include(<libavcodec/bsf.h>)
#include <libavcodec/bsf.h>
#endif
#include <libavcodec/avcodec.h>
}

namespace nvc {

class NvdecPackets {
 public:
  // InvalidArgument when the container's headers of the stream can't be read.
  static absl::StatusOr<NvdecPackets> Create(const AVCodecParameters& codec, AVRational time_base);

  // Parameter sets and sequence headers that the container keeps apart from the packets.
  const std::vector<uint8_t>& headers() const { return headers_; }

  // The packet to parse for `packet`, valid until the next call; null when there is none. DataLoss
  // when its framing is broken.
  absl::StatusOr<const AVPacket*> Convert(const AVPacket& packet);
  // Forgets the packets before.
  void Reset();

 private:
  struct FilterDeleter {
    void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
  };

  std::unique_ptr<AVBSFContext, FilterDeleter> filter_;  // null when packets are right as they are
  AvPacketPtr converted_;
  std::vector<uint8_t> headers_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_NVDEC_PACKETS_H_
