// Plans which packets to decode for a set of wanted frames. The plan consists of segments that can
// be decoded independently of each other.
#ifndef TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_
#define TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// The packets [first_packet, last_packet], from a random access point to the last wanted frame that
// is reached from it. IsNeeded tells which packets in between to leave out.
struct Segment {
  int first_packet = 0, last_packet = 0;
  std::vector<int> frames;    // wanted display indices, in decoding order
  std::vector<int> pictures;  // FrameIndex::pictures to decode, in order; empty: unknown
  int cost = 0;               // number of pictures to decode
};

struct ThreadPlan {
  int workers = 1;              // segments decoded side by side
  int threads_per_decoder = 1;  // inside each decoder
};

// Groups `frames` by the random access point that each is decoded from. `frames` holds display
// indices in any order, also repeated ones. Returns the segments in decoding order.
std::vector<Segment> PlanSegments(const FrameIndex& index, const std::vector<int64_t>& frames);

// True when decoding can go on from segment `a` to segment `b`, the next one in the file, without a
// new start: no packets lie between them that neither needs.
bool Continues(const FrameIndex& index, const Segment& a, const Segment& b);

// Returns one segment for the frames of `segments`, each of which continues the one before, but not
// for frames with a true value in `done` (by display index). No frames are left if all are done.
Segment JoinSegments(const FrameIndex& index, const Segment* first, const Segment* last,
                     const std::vector<char>& done);

// True when packet `i` of `segment` holds a picture that may not come out exact when decoding
// starts at the segment's first packet. It is never true for the packet of a wanted frame.
bool IsUnreachable(const FrameIndex& index, const Segment& segment, int i);

// True when packet `i` has to be sent to the decoder for `segment`: it holds a wanted frame, or
// another packet may refer to it.
bool IsNeeded(const FrameIndex& index, const Segment& segment, int i);

// A range of a packet's bytes that is sent to the decoder on its own. Then an error names the
// picture that it is in, and does not spoil the other pictures of the packet.
struct PacketPart {
  int begin = 0, end = 0;
  int picture = -1;  // index into FrameIndex::pictures; -1: none, or not known
};

// Returns the parts of packet `i` to send: all bytes but the pictures that no wanted frame needs.
// Call it for packets for which IsNeeded is true.
std::vector<PacketPart> PartsToSend(const FrameIndex& index, const Segment& segment, int i);

// True when damage to `picture` of packet `packet` may show in display frame `frame`. `picture` is
// an index into FrameIndex::pictures; -1 stands for the whole packet.
bool DependsOn(const FrameIndex& index, const Segment& segment, int frame, int packet, int picture);

// Decides how to use `num_threads`. Decoding segments side by side scales best. When there are too
// few segments to keep all threads busy to the end, frame threads inside one decoder do better. The
// same holds if so few frames may be decoded ahead (`lookahead`; 0: any number) that most segments
// would wait for the first.
ThreadPlan PlanThreads(const std::vector<Segment>& segments, int num_threads,
                       int64_t lookahead = 0);

// Returns how many segments are worth decoding side by side with at most `max_workers` decoders
// that each decode as fast as they can, such as a GPU's.
int PlanWorkers(const std::vector<Segment>& segments, int max_workers, int64_t lookahead);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_DECODE_PLAN_H_
