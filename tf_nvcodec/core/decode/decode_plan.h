// Which packets to decode for a set of frames, split into segments that need nothing from each
// other.
#ifndef TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_
#define TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Packets [first_packet, last_packet] without those nobody needs, from a random access point to
// the last wanted frame that is reached from it.
struct Segment {
  int first_packet = 0, last_packet = 0;
  std::vector<int> frames;    // wanted, in decoding order
  std::vector<int> pictures;  // FrameIndex::pictures they take, in order; none if not certain
  int cost = 0;               // pictures that will be decoded
};

struct ThreadPlan {
  int workers = 1;              // segments decoded side by side
  int threads_per_decoder = 1;  // inside each
};

// `frames`: display indices, any order, duplicates allowed. Segments come in decoding order.
std::vector<Segment> PlanSegments(const FrameIndex& index, const std::vector<int64_t>& frames);

// Pictures of a segment that its start does not promise to give exactly; wanted ones are never
// among them.
bool IsUnreachable(const FrameIndex& index, const Segment& segment, int i);

// Whether packet `i` has to be sent when decoding `segment`: wanted, or a packet that others may
// refer to.
bool IsNeeded(const FrameIndex& index, const Segment& segment, int i);

// Bytes of a packet to be sent by themselves: an error then tells the picture that it is in, and
// does not take the packet's other pictures along.
struct PacketPart {
  int begin = 0, end = 0;
  int picture = -1;  // of FrameIndex::pictures; -1: not known, or none
};

// What to send of packet `i`, which is needed: all but the pictures that nobody needs.
std::vector<PacketPart> PartsToSend(const FrameIndex& index, const Segment& segment, int i);

// Whether damage to `picture` of `packet`, or to all of the packet when -1, may show in `frame`.
bool DependsOn(const FrameIndex& index, const Segment& segment, int frame, int packet, int picture);

// How to spend `num_threads` on the segments. Segments side by side scale best; frame threads
// inside a decoder fill the cores when there are too few segments to keep all busy to the end.
ThreadPlan PlanThreads(const std::vector<Segment>& segments, int num_threads);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_
