// Decodes the packets of one segment, and says of each wanted frame whether it can be trusted.
#ifndef TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_
#define TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_

#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// The causes of damage, by the display index of the damaged frame. A frame is damaged when its own
// packet is, or a packet that its decoding depends on.
using DamagedFrames = std::map<int, absl::Status>;

// Receives the wanted frames of a segment. An error ends the decode.
struct FrameEvents {
  // A frame and its display index. `may_wait` is false while the decoder owes the verdict on an
  // earlier wanted frame: the receiver must then not wait for anybody who waits for that frame.
  std::function<absl::Status(int frame, const AVFrame& picture, bool may_wait)> write;
  // Whether the receiver takes the frame without waiting. While it does not, the decoder's picture
  // is kept: `most_kept` pictures, and more only where the receiver must not wait. Null: it takes
  // every frame.
  std::function<bool(int frame)> has_room;
  size_t most_kept = 0;
  // The last word on a frame, which was written before unless it is damaged. `damage` is OK if the
  // frame can be trusted.
  std::function<void(int frame, const absl::Status& damage)> settle;
  // Settles a frame as damaged once the decoder has passed it over, and not only at the segment's
  // end. For receivers that wait for it meanwhile.
  bool give_up_overdue = false;
};

// How a decoder reports errors.
enum class ErrorReports {
  // An error is about the packet that was sent last. This is true for software with one thread.
  kByPacket,
  // An error may also be about an earlier packet, or only TakeErrors tells of it. This is true for
  // hardware.
  kLate,
  // Only TakeErrors tells. This is true for software with frame threads.
  kByFlag,
};

// Tells the source where the packets of `segment` lie. Call it before the first is read.
void AnnounceSegment(const FrameIndex& index, const ByteSource& source, const Segment& segment);

// Decodes the wanted frames of `segment`. Returns false at the first error if `reports` is not
// kByPacket. Then the frames that were not settled have to be decoded again by a decoder with
// kByPacket, and written again. `causes` holds what is known of some of them. The decoder can't be
// used any more.
absl::StatusOr<bool> DecodeSegment(const FrameIndex& index, const ByteSource& source,
                                   const Segment& segment, Decoder* decoder, ErrorReports reports,
                                   const Cancelled& cancelled, const FrameEvents& events,
                                   DamagedFrames* causes);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_
