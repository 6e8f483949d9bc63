// Finds the frames of a stream, and the order in which they are shown, by decoding all of it. This
// is for streams whose packets do not tell: FrameIndex uses it.
#ifndef TF_NVCODEC_CORE_INDEX_DECODED_ORDER_H_
#define TF_NVCODEC_CORE_INDEX_DECODED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// A frame that the decoder shows.
struct ShownFrame {
  int packet = 0;
  int64_t pts = AV_NOPTS_VALUE;  // best-effort timestamp, in the stream's time base
  bool key = false;
};

class DecodedOrder {
 public:
  // What the packets say.
  struct Packets {
    std::vector<int> shown;       // those that may show a frame, in decoding order
    std::vector<int64_t> orders;  // PacketInfo::order of all
    bool tell_count = false;      // each of `shown` shows one frame
    bool count_refused = false;   // a packet that the decoder refuses is a lost frame
  };

  // `index` has its stream and packets, but no frames yet.
  DecodedOrder(const FrameIndex& index, const ByteSource& source, const FrameIndex::Limits& limits,
               const Cancelled& cancelled, const Packets& packets);

  // Returns the frames in display order, with those of lost packets in their places. Returns
  // ResourceExhausted above limits.max_frames.
  absl::StatusOr<std::vector<ShownFrame>> Decode();
  // After Decode: packets that are lost because the decoder refuses them.
  const std::set<int>& refused() const { return refused_; }

 private:
  absl::Status DecodeAll();
  absl::Status TakeFrames(Decoder* decoder, AVFrame* frame, absl::Status* error);
  bool IsLost(int packet) const;
  bool FindBreaks();
  void AddAbsent();
  ptrdiff_t PlaceOfAbsent(int packet);

  const FrameIndex& index_;
  const ByteSource& source_;
  const FrameIndex::Limits& limits_;
  const Cancelled& cancelled_;
  const Packets& packets_;
  std::vector<int64_t> orders_;  // also of lost packets, once they have their places
  std::vector<ShownFrame> frames_;
  std::vector<bool> seen_;  // packets that show a frame
  std::set<int> refused_;
  std::set<int> breaks_;  // lost packets at which decoding starts anew
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_DECODED_ORDER_H_
