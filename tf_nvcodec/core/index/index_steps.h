// The steps that make a frame index, in their order. FrameIndex::Build takes them.
#ifndef TF_NVCODEC_CORE_INDEX_INDEX_STEPS_H_
#define TF_NVCODEC_CORE_INDEX_INDEX_STEPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// How much of a file is read. kPartsOfPackets reads everything when the container has no table of
// its packets. kAllAfterALook opens the file as FFmpeg's programs do: they decode its first frames
// to learn by how much frames are reordered, and times that the container lacks follow from that.
enum class Reading { kSampleTable, kPartsOfPackets, kAll, kAllAfterALook };

// What a look at each packet of a stream tells.
struct PacketScan {
  IndexParts parts;             // without frames
  std::vector<int> shown;       // packets that show a frame, or may, in decoding order
  std::vector<int64_t> orders;  // PacketInfo::order of all packets
  bool tells_frames = true;     // each of `shown` shows one frame, and decoding begins at packet 0
  bool knows_codec = true;      // packets tell where decoding may start
  bool counts_packets = false;  // of the container each packet stands for a frame
  bool looked = false;          // at the first frames, as in Reading::kAllAfterALook
};

// Returns Aborted when the index needs more of the file than `reading` covers.
absl::StatusOr<PacketScan> ScanPackets(const ByteSource& source, const FrameIndex::Limits& limits,
                                       const Cancelled& cancelled, Reading reading);

struct ShownFrame {
  int packet = 0;
  int64_t pts = AV_NOPTS_VALUE;  // in the stream's time base
  bool key = false;              // says the decoder
};

// Returns the frames in display order by the packets' pts; none when those do not tell it for
// certain.
std::vector<ShownFrame> OrderByTimestamps(const PacketScan& scan);

// Returns by how many places a frame comes later in decoding order than in display order.
int ReorderDepth(const std::vector<ShownFrame>& frames);

// Returns the frames in display order by decoding all packets, with those of lost packets in their
// places. Marks what the decoder tells of the packets. Returns ResourceExhausted above
// limits.max_frames.
absl::StatusOr<std::vector<ShownFrame>> OrderByDecoding(const ByteSource& source,
                                                        const FrameIndex::Limits& limits,
                                                        const Cancelled& cancelled,
                                                        PacketScan* scan);

// Sets the times of every frame and the frame rate. `shown` are the frames.
void SetTimes(const std::vector<ShownFrame>& shown, IndexParts* parts);

// Sets where decoding starts for each frame.
absl::Status SetStartPackets(const Cancelled& cancelled, IndexParts* parts);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_INDEX_STEPS_H_
