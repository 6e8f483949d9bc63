// The exact frame index of a stream: which frames a full decode shows, when, and where decoding has
// to start for each. Made by looking at every packet once, without decoding where the packets tell
// enough; else by one full decode.
#ifndef TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_
#define TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// In decoding order.
struct PacketEntry {
  int64_t pts = AV_NOPTS_VALUE, dts = AV_NOPTS_VALUE, duration = 0;  // stream time base
  int64_t offset = -1;  // of its bytes in the source, where they lie there in one piece
  int size = 0;
  int flags = 0;               // AV_PKT_FLAG_*
  int frame = -1;              // display index of the frame it shows; -1: none
  bool random_access = false;  // see PacketInfo
  bool droppable = false;
  bool unreachable = false;   // refers to what lies before the stream's beginning; shows nothing
  bool second_field = false;  // of the frame that the packet before it shows
  int first_picture = 0, num_pictures = 0;  // in FrameIndex::pictures
  AvPacketPtr kept;  // the packet itself where its bytes are not in one piece
};

// In display order.
struct FrameEntry {
  int packet = 0;        // that begins it
  int start_packet = 0;  // random access point from which decoding reaches it exactly
  double pts = 0;       // seconds, as the stream has it: streams that were joined may run backwards
  double time = 0;      // seconds from which it is on screen: pts, or the time of the one before
  double duration = 0;  // seconds
};

class FrameIndex {
 public:
  struct Limits {
    int64_t max_frames = 0;  // ResourceExhausted above; 0: none
    int64_t max_pixels = 0;  // for a full decode, if one is needed
    // Of an MP4 or MOV file only the header is read, where it tells enough: each sample of the
    // video track is taken for one frame, as ISO/IEC 14496-12 has it, and each sync sample for a
    // random access point. For sources where a look at every packet costs as much as the file.
    bool believe_sample_table = false;
  };

  // Reads `source` to its end; of MP4 and MOV, where possible, only the header and the beginnings
  // of the packets. DataLoss when no frame can be had from it.
  static absl::StatusOr<FrameIndex> Build(const ByteSource& source, const Limits& limits,
                                          const Cancelled& cancelled);

  const StreamInfo& stream() const { return stream_; }
  // As a decoder that begins with packet `i` has to know it; the same object for packets of one
  // description.
  const AVCodecParameters& CodecAt(int i) const;
  const std::vector<PacketEntry>& packets() const { return packets_; }
  const std::vector<FrameEntry>& frames() const { return frames_; }
  // In decoding order; none for codecs whose packets don't tell what they refer to.
  const std::vector<CodedPicture>& pictures() const { return pictures_; }
  int64_t num_frames() const { return static_cast<int64_t>(frames_.size()); }

  // H.264's and HEVC's largest picture buffer; FFmpeg's H.264 decoder aborts when told more.
  static constexpr int kMaxReorderDepth = 16;
  // Frames that a frame may come later in decoding than in display order.
  int reorder_depth() const { return reorder_depth_; }
  // Average over the stream, frames a second; 0 for a single frame of unknown duration.
  double frame_rate() const { return frame_rate_; }
  // Seconds from the first frame's time to the end of the last frame.
  double duration() const;
  // Why the container ended early; empty when it did not.
  const std::string& damage() const { return damage_; }
  // Made without a look at the packets (see Limits): if decoding finds them different, it is wrong.
  bool only_sample_table() const { return only_sample_table_; }

  // Fills `out` with packet `i`; its pos is `i`, so that Decoder frames name their packet.
  absl::Status ReadPacket(const ByteSource& source, int i, AVPacket* out) const;

  // The frame on screen at `seconds`: InvalidArgument before the first frame, after the last one's
  // end, or when it is not a number. (Not OutOfRange: tf.data takes that for the end of the data.)
  absl::StatusOr<int64_t> FrameAt(double seconds) const;

 private:
  friend class FrameIndexBuilder;
  friend class FrameIndexIo;

  void SetFrameTimes();  // from their pts

  // That a container gives of the stream in its middle.
  struct Description {
    int first_packet = 0;
    AvCodecParametersPtr codec;
  };

  StreamInfo stream_;
  std::vector<Description> descriptions_;  // after stream_'s
  std::vector<PacketEntry> packets_;
  std::vector<FrameEntry> frames_;
  std::vector<CodedPicture> pictures_;
  int reorder_depth_ = 0;
  double frame_rate_ = 0;
  std::string damage_;
  bool only_sample_table_ = false;
};

// Reads the packets that decoding `frames` (display indices) begins with. Aborted when one of them
// is no random access point: the index has to be made by looking at every packet.
absl::Status CheckStarts(const FrameIndex& index, const ByteSource& source,
                         const std::vector<int64_t>& frames);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_FRAME_INDEX_H_
