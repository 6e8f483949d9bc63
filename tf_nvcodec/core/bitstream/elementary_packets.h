// Converts a container's packets into packets of an elementary stream, for decoders that see the
// packets only and not the container's headers. H.264 and HEVC packets get start codes (Annex B)
// and parameter sets at random access points. MPEG-4 and AV1 key frames get their sequence headers.
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
  // Returns InvalidArgument when FFmpeg's bitstream filter can't read the container's headers of
  // the stream.
  static absl::StatusOr<std::unique_ptr<ElementaryPackets>> Create(const AVCodecParameters& codec,
                                                                   AVRational time_base);

  // The parameters with which to open a decoder for the first converted packets. Later packets
  // carry changed parameter sets themselves.
  const AVCodecParameters& codec() const { return *codec_; }

  // Converts the packet in place. Returns DataLoss when the packet's framing is broken.
  absl::Status Convert(AVPacket* packet);
  // Call this after a seek, before the first packet from the new place. With `container_tells` the
  // demuxer attaches the new sample description to the first packet to which it applies (MP4).
  // Otherwise the description is looked up by the packet's position in the file.
  void Reset(bool container_tells);

 private:
  // The parameters that the container gives for packets from position `pos` in the file on.
  struct Description {
    int64_t pos = 0;  // in bytes
    AvCodecParametersPtr stream;
  };

  // Switches to the description that applies to `packet`, and stores it if it is new.
  absl::Status Follow(const AVPacket& packet);
  // Opens the bitstream filter for descriptions_[description].
  absl::Status Use(size_t description);
  bool LacksHeaders(const AVPacket& packet) const;
  static absl::Status PutBefore(absl::Span<const uint8_t> headers, AVPacket* packet);

  std::vector<Description> descriptions_;  // those seen so far, in order of position
  size_t current_ = 0;
  bool is_lost_ = false;  // the next packet's description must be found by its position
  bool is_new_ = false;   // no packet may have had the current parameter sets yet
  AVRational time_base_{0, 1};
  std::optional<BitstreamFilter> filter_;  // unset: packets need no conversion
  AvCodecParametersPtr codec_;
  std::vector<uint8_t> headers_;  // put before key frames that lack them
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_ELEMENTARY_PACKETS_H_
