// Packets as NVDEC's parser reads them: H.264 and HEVC with start codes, and one picture or field
// at a time, so that it is known which packet a picture came in. The parser's own timestamps do not
// tell: it hands them out in the order shown, smallest first.
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
    const uint8_t* data = nullptr;  // null: there is no more
    size_t size = 0;
    bool whole = false;  // exactly a picture or a field, perhaps with headers before it
  };

  // InvalidArgument when the container's headers of the stream can't be read.
  static absl::StatusOr<NvdecPackets> Create(const AVCodecParameters& codec, AVRational time_base);

  // Parameter sets and sequence headers that the container keeps apart from the packets. New ones
  // in the middle of the stream are also the first piece of their packet.
  const std::vector<uint8_t>& headers() const { return headers_; }

  // Drops what is left of the packet before. DataLoss when the packet's framing is broken.
  // `may_have_fields`: an H.264 packet may hold two pictures, by the parameter sets before it.
  absl::Status Send(const AVPacket& packet, bool may_have_fields);
  // The next piece of the packet, valid until the next call.
  absl::StatusOr<Piece> Next();
  // Forgets the packets before.
  void Reset();

 private:
  // Packets are of `stream` from now on.
  absl::Status Follow(AvCodecParametersPtr stream);
  absl::Status Filter();
  // What the parser needs of it to be a picture by itself.
  absl::Span<const uint8_t> Whole(const AVPacket& packet);
  void Split(absl::Span<const uint8_t> packet);

  AvCodecParametersPtr stream_;  // as the container describes it now
  AVRational time_base_{0, 1};
  std::optional<BitstreamFilter> filter_;  // none when packets are right as they are
  AvPacketPtr filtered_;
  std::vector<uint8_t> headers_;
  // A JPEG that came without tables.
  std::optional<std::vector<uint8_t>> completed_;
  bool may_have_fields_ = true;
  std::vector<Piece> pieces_;  // of the filter's last packet
  size_t next_piece_ = 0;
};

// Where each picture or field after the first begins, with the headers before it: only in H.264,
// MPEG-1 and MPEG-2, with start codes.
std::vector<size_t> PictureStarts(AVCodecID codec, const uint8_t* data, size_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_PACKETS_H_
