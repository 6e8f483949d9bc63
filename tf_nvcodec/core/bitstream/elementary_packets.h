// Packets as they are in an elementary stream, so that a decoder that has seen nothing of the
// container can take them: H.264 and HEVC with start codes (Annex B) and parameter sets at random
// access points, MPEG-4 and AV1 with their headers.
#ifndef TF_NVCODEC_CORE_BITSTREAM_ELEMENTARY_PACKETS_H_
#define TF_NVCODEC_CORE_BITSTREAM_ELEMENTARY_PACKETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

class ElementaryPackets {
 public:
  // InvalidArgument when the container's headers of the stream can't be read.
  static absl::StatusOr<std::unique_ptr<ElementaryPackets>> Create(const AVCodecParameters& codec,
                                                                   AVRational time_base);

  // As a decoder of the first converted packets wants it; later ones bring what is new.
  const AVCodecParameters& codec() const { return *codec_; }

  // Converts in place. DataLoss when the packet's framing is broken.
  absl::Status Convert(AVPacket* packet);
  // Before packets from another place of the stream. `container_tells`: which description holds
  // there, where it is another than that of the packet before (MP4).
  void Reset(bool container_tells);

 private:
  // From a place in the file on, as far as they are known.
  struct Description {
    int64_t pos = 0;
    AvCodecParametersPtr stream;
  };

  // Takes the description that holds for `packet`.
  absl::Status Follow(const AVPacket& packet);
  absl::Status Use(size_t description);
  bool LacksHeaders(const AVPacket& packet) const;
  static absl::Status PutBefore(absl::Span<const uint8_t> headers, AVPacket* packet);

  std::vector<Description> descriptions_;  // by position
  size_t current_ = 0;
  bool is_lost_ = false;  // nobody tells which description holds: it goes by the position
  bool is_new_ = false;   // its parameter sets may not have been in a packet yet
  AVRational time_base_{0, 1};
  std::optional<BitstreamFilter> filter_;  // unset: packets are right as they are
  AvCodecParametersPtr codec_;
  std::vector<uint8_t> headers_;  // to be put before key frames that lack them
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_ELEMENTARY_PACKETS_H_
