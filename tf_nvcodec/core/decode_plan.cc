#include "tf_nvcodec/core/decode_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace nvc {

namespace {

bool IsWanted(const FrameIndex& index, const Segment& segment, int i) {
  const auto by_packet = [&](int frame, int wanted) {
    return index.frames()[static_cast<size_t>(frame)].packet < wanted;
  };
  const auto found = std::lower_bound(segment.frames.begin(), segment.frames.end(), i, by_packet);
  return found != segment.frames.end() && index.frames()[static_cast<size_t>(*found)].packet == i;
}

}  // namespace

bool IsUnreachable(const FrameIndex& index, const Segment& segment, int i) {
  if (i <= segment.first_packet || IsWanted(index, segment, i)) return false;
  const PacketEntry& packet = index.packets()[static_cast<size_t>(i)];
  if (packet.unreachable) return true;
  const PacketEntry& start = index.packets()[static_cast<size_t>(segment.first_packet)];
  return packet.frame >= 0 && packet.frame < start.frame;
}

bool IsNeeded(const FrameIndex& index, const Segment& segment, int i) {
  if (i == segment.first_packet || IsWanted(index, segment, i)) return true;
  // MPEG-4's B-VOPs before the start would put its clock out; nothing ever refers to them.
  const bool mpeg4 = index.stream().codec->codec_id == AV_CODEC_ID_MPEG4;
  if (mpeg4 && IsUnreachable(index, segment, i)) return false;
  return !index.packets()[static_cast<size_t>(i)].droppable;
}

std::vector<Segment> PlanSegments(const FrameIndex& index, const std::vector<int64_t>& frames) {
  std::map<int, Segment> by_start;
  for (const int64_t frame : frames) {
    const FrameEntry& entry = index.frames()[static_cast<size_t>(frame)];
    Segment& segment = by_start[entry.start_packet];
    segment.first_packet = entry.start_packet;
    segment.frames.push_back(static_cast<int>(frame));
  }
  std::vector<Segment> segments;
  segments.reserve(by_start.size());
  for (auto& [start, segment] : by_start) {
    std::sort(segment.frames.begin(), segment.frames.end(), [&](int a, int b) {
      return index.frames()[static_cast<size_t>(a)].packet <
             index.frames()[static_cast<size_t>(b)].packet;
    });
    segment.frames.erase(std::unique(segment.frames.begin(), segment.frames.end()),
                         segment.frames.end());
    segment.last_packet = index.frames()[static_cast<size_t>(segment.frames.back())].packet;
    for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
      segment.num_packets += IsNeeded(index, segment, i) ? 1 : 0;
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

ThreadPlan PlanThreads(const std::vector<Segment>& segments, int num_threads) {
  ThreadPlan plan;
  if (num_threads <= 1 || segments.empty()) return plan;
  std::vector<int> costs;
  for (const Segment& segment : segments) costs.push_back(segment.num_packets);
  const int total = std::accumulate(costs.begin(), costs.end(), 0);
  // The time to decode the segments side by side: the next one goes to whoever is free.
  std::vector<int> busy(static_cast<size_t>(num_threads), 0);
  for (const int cost : costs) *std::min_element(busy.begin(), busy.end()) += cost;
  const double side_by_side = *std::max_element(busy.begin(), busy.end());
  // The share of perfect scaling that frame threads are taken to reach: assumed, not measured.
  constexpr double kFrameThreadEfficiency = 0.85;
  const double frame_threads = total / (num_threads * kFrameThreadEfficiency);
  if (total > num_threads && frame_threads < side_by_side) {
    // One more than the cores, so that none idles while the caller converts a picture.
    plan.threads_per_decoder = num_threads + 1;
  } else {
    plan.workers = std::min(num_threads, static_cast<int>(segments.size()));
  }
  return plan;
}

}  // namespace nvc
