// Prepares a container's packets for NVDEC's parser. H.264 and HEVC get start codes. The parser
// gets one picture or field at a time, so that the decoder knows which packet a picture came in.
// The parser's own timestamps don't tell that, because it assigns the smallest one to the picture
// that is displayed next.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_PACKETS_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_PACKETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

namespace nvc {

class NvdecPackets {
 public:
  struct Piece {
    const uint8_t* data = nullptr;  // null: the packet has no more pieces
    size_t size = 0;
    bool whole = false;  // exactly one picture or field, perhaps with headers before it
  };

  // Returns InvalidArgument when FFmpeg's bitstream filter can't read the container's headers of
  // the stream.
  static absl::StatusOr<NvdecPackets> Create(const AVCodecParameters& codec, AVRational time_base);

  // Parameter sets and sequence headers that the container keeps outside the packets. If they
  // change in the middle of the stream, the first packet with the change has them as its first
  // piece.
  const std::vector<uint8_t>& headers() const { return headers_; }

  // Starts a packet, and drops what is left of the one before. Returns DataLoss when the packet's
  // framing is broken. `may_have_fields` says whether the parameter sets before it allow an H.264
  // packet to hold two fields.
  absl::Status Send(const AVPacket& packet, bool may_have_fields);
  // Returns the next piece of the packet. It is valid until the next call.
  absl::StatusOr<Piece> Next();
  // Forgets the packets before, for a seek.
  void Reset();

 private:
  // Switches to `stream`, which describes the packets from now on.
  absl::Status Follow(AvCodecParametersPtr stream);
  // Splits the next packet that the filter has ready, if any.
  absl::Status Filter();
  // Adds the pieces of a filtered packet.
  void Split(absl::Span<const uint8_t> packet);

  AvCodecParametersPtr stream_;  // the current description in the container
  AVRational time_base_{0, 1};
  std::optional<BitstreamFilter> filter_;  // unset: packets need no filter
  AvPacketPtr filtered_;
  std::vector<uint8_t> headers_;
  bool may_have_fields_ = true;
  std::vector<Piece> pieces_;  // of the last packet out of the filter
  size_t next_piece_ = 0;
};

// Returns the offsets at which pictures or fields of H.264 after the first one begin, including the
// headers before them. The bytes must have start codes.
std::vector<size_t> PictureStarts(const uint8_t* data, size_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_PACKETS_H_
