// Builds the exact frame index of a stream: which frames a full decode shows, when it shows them,
// and where decoding has to start for each. Building it takes one look at every packet. Only
// streams whose packets do not tell enough are decoded once.
#ifndef TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_
#define TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// One packet. The index lists packets in decoding order.
struct PacketEntry {
  int64_t pts = AV_NOPTS_VALUE, dts = AV_NOPTS_VALUE, duration = 0;  // in the stream's time base
  int64_t offset = -1;  // in the source; -1 when its bytes are not in one piece there
  int size = 0;
  int flags = 0;               // AV_PKT_FLAG_*
  int frame = -1;              // display index of the frame it shows; -1: none
  bool random_access = false;  // see PacketInfo
  bool droppable = false;
  bool unreachable = false;   // refers to pictures before the stream's beginning; shows nothing
  bool second_field = false;  // of the frame that the previous packet begins
  bool lost = false;          // its bytes are no picture: the frame that it stands for is damaged
  int first_picture = 0, num_pictures = 0;  // in FrameIndex::pictures
  AvPacketPtr kept;                         // the packet itself when offset is -1
};

// One frame. The index lists frames in display order.
struct FrameEntry {
  int packet = 0;        // the packet that begins it
  int start_packet = 0;  // random access point from which decoding reaches it exactly
  double pts = 0;        // seconds, from the stream; may run backwards where streams were joined
  double time = 0;       // seconds at which it appears: the largest pts up to this frame
  double duration = 0;   // seconds
};

// A description of the stream that the container gives in the middle, for `first_packet` and later.
struct StreamDescription {
  int first_packet = 0;
  AvCodecParametersPtr codec;
};

// A palette that the container gives beside a packet, for this and all later packets.
struct Palette {
  int first_packet = 0;
  std::string colors;
};

// What an index consists of. FrameIndex explains it.
struct IndexParts {
  StreamInfo stream;
  std::vector<StreamDescription> descriptions;  // those after stream.codec
  std::vector<Palette> palettes;
  std::vector<PacketEntry> packets;
  std::vector<FrameEntry> frames;
  std::vector<CodedPicture> pictures;
  int reorder_depth = 0;
  double frame_rate = 0;
  std::string damage;
  bool only_sample_table = false;

  // See FrameIndex::ReadPacket.
  absl::Status ReadPacket(const ByteSource& source, int i, AVPacket* out) const;
};

// The index of one stream. It does not change after Build.
class FrameIndex {
 public:
  struct Limits {
    int64_t max_frames = 0;  // Build returns ResourceExhausted above this; 0: no limit
    int64_t max_pixels = 0;  // limit of a coded picture; 0: no limit
    // Limit of the stream's packets, and of what an MP4 header says about samples; 0: no limit.
    // Build returns ResourceExhausted as soon as there are more.
    int64_t max_packets = 0;
    // Read only the header of an MP4 or MOV file, where the header is enough. Each sample of the
    // video track then counts as one frame, as ISO/IEC 14496-12 defines it, and each sync sample as
    // a random access point. This is for sources where a look at every packet costs as much as
    // reading the file.
    bool believe_sample_table = false;
  };

  // Reads `source` to its end. Of MP4 and MOV files it reads only the header and the beginnings of
  // the packets, where possible. Returns DataLoss when `source` has no frame that can be decoded.
  static absl::StatusOr<FrameIndex> Build(const ByteSource& source, const Limits& limits,
                                          const Cancelled& cancelled);
  FrameIndex() = default;
  explicit FrameIndex(IndexParts parts) : parts_(std::move(parts)) {}

  const IndexParts& parts() const { return parts_; }
  const StreamInfo& stream() const { return parts_.stream; }
  // Returns the parameters for a decoder that starts with packet `i`. Packets with the same
  // description share one object.
  const AVCodecParameters& CodecAt(int i) const;
  const std::vector<PacketEntry>& packets() const { return parts_.packets; }
  const std::vector<FrameEntry>& frames() const { return parts_.frames; }
  // In decoding order. Empty for codecs whose packets do not tell which pictures they refer to.
  const std::vector<CodedPicture>& pictures() const { return parts_.pictures; }
  int64_t num_frames() const { return static_cast<int64_t>(frames().size()); }

  // The largest picture buffer of H.264 and HEVC. FFmpeg's H.264 decoder aborts on larger values.
  static constexpr int kMaxReorderDepth = 16;
  // By how many places a frame may come later in decoding order than in display order.
  int reorder_depth() const { return parts_.reorder_depth; }
  // Average over the stream, in frames per second; 0 for a single frame of unknown duration.
  double frame_rate() const { return parts_.frame_rate; }
  // Seconds from the first frame's time to the end of the last frame.
  double duration() const;
  // Why the container ended early; empty when it did not.
  const std::string& damage() const { return parts_.damage; }
  // True when Build looked at no packet (see Limits). Then the index is wrong if decoding finds
  // other packets than the sample table tells.
  bool only_sample_table() const { return parts_.only_sample_table; }
  // The index's size in memory, with the packets that it keeps.
  size_t MemoryBytes() const;

  // Fills `out` with packet `i` and the palette in force, if there are palettes. Its pos is set to
  // `i`, so that decoded frames name their packet.
  absl::Status ReadPacket(const ByteSource& source, int i, AVPacket* out) const {
    return parts_.ReadPacket(source, i, out);
  }

  // Returns the index of the frame on screen at `seconds`, or of one that appears within
  // `tolerance` after that. Returns InvalidArgument for a time before the first frame, after the
  // last frame's end, or NaN. (OutOfRange would tell tf.data that the data ends.)
  absl::StatusOr<int64_t> FrameAt(double seconds, double tolerance = 0) const;

 private:
  IndexParts parts_;
};

// Returns how much earlier than meant a time may be that was rounded to float32: half the distance
// to the next number.
double Float32Tolerance(float seconds);

// Reads the packets at which decoding of `frames` (display indices) starts. Returns Aborted when
// one of them is not a random access point. Then the sample table is wrong, and the caller has to
// build the index from every packet.
absl::Status CheckSyncSamples(const FrameIndex& index, const ByteSource& source,
                              const std::vector<int64_t>& frames);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_
