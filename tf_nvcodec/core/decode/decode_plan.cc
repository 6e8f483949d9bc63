#include "tf_nvcodec/core/decode/decode_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {
namespace {

bool IsWanted(const FrameIndex& index, const Segment& segment, int i) {
  if (index.packets()[static_cast<size_t>(i)].second_field) --i;
  const auto by_packet = [&](int frame, int wanted) {
    return index.frames()[static_cast<size_t>(frame)].packet < wanted;
  };
  const auto found = std::lower_bound(segment.frames.begin(), segment.frames.end(), i, by_packet);
  return found != segment.frames.end() && index.frames()[static_cast<size_t>(*found)].packet == i;
}

// Returns the pictures needed to decode `frames`, in decoding order, when decoding starts at
// `first_packet`.
std::vector<int> PicturesFor(const FrameIndex& index, int first_packet,
                             const std::vector<int>& frames) {
  const int first = index.packets()[static_cast<size_t>(first_packet)].first_picture;
  std::vector<bool> needed;  // by picture number, counted from `first`
  for (const int frame : frames) {
    const int packet = index.frames()[static_cast<size_t>(frame)].packet;
    const PacketEntry& entry = index.packets()[static_cast<size_t>(packet)];
    const int end = entry.first_picture + entry.num_pictures;
    needed.resize(std::max(needed.size(), static_cast<size_t>(end - first)));
    for (int i = entry.first_picture; i < end; ++i) {
      if (!index.pictures()[static_cast<size_t>(i)].shown) continue;
      needed[static_cast<size_t>(i - first)] = true;
    }
  }
  std::vector<int> pictures;
  for (int i = first + static_cast<int>(needed.size()) - 1; i >= first; --i) {
    if (!needed[static_cast<size_t>(i - first)]) continue;
    pictures.push_back(i);
    for (const int reference : index.pictures()[static_cast<size_t>(i)].references) {
      if (reference >= first) needed[static_cast<size_t>(reference - first)] = true;
    }
  }
  std::reverse(pictures.begin(), pictures.end());
  return pictures;
}

// Returns false when a picture between this random access point and the next one refers to
// everything that the decoder holds. The index records damaged packets that way, and the headers of
// the packets around them may be wrong as well.
bool ReferencesAreCertain(const FrameIndex& index, int first_packet) {
  const auto& packets = index.packets();
  const auto first = packets.begin() + first_packet;
  const auto next = std::find_if(first + 1, packets.end(),
                                 [](const PacketEntry& packet) { return packet.random_access; });
  const auto begin = index.pictures().begin() + first->first_picture;
  const auto end = next == packets.end() ? index.pictures().end()
                                         : index.pictures().begin() + next->first_picture;
  return std::all_of(begin, end,
                     [](const CodedPicture& picture) { return picture.references.back() < 0; });
}

// True when one of the packet's pictures is in `pictures`, which is sorted.
bool HasPictureOf(const PacketEntry& packet, const std::vector<int>& pictures) {
  const auto at = std::lower_bound(pictures.begin(), pictures.end(), packet.first_picture);
  return at != pictures.end() && *at < packet.first_picture + packet.num_pictures;
}

// Returns the number of pictures to decode in a needed packet, at least 1.
int Cost(const std::vector<PacketPart>& parts) {
  const auto pictures = std::count_if(parts.begin(), parts.end(),
                                      [](const PacketPart& part) { return part.picture >= 0; });
  return std::max(1, static_cast<int>(pictures));
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
  // B-VOPs of MPEG-4 from before the start would disturb the decoder's clock. No picture refers to
  // them.
  const bool mpeg4 = index.stream().codec->codec_id == AV_CODEC_ID_MPEG4;
  if (mpeg4 && IsUnreachable(index, segment, i)) return false;
  const PacketEntry& packet = index.packets()[static_cast<size_t>(i)];
  if (packet.num_pictures == 0 || segment.pictures.empty()) return !packet.droppable;
  // A packet at a random access point is needed even if none of its pictures is: the headers beside
  // them apply to the packets that follow.
  return packet.random_access || HasPictureOf(packet, segment.pictures);
}

std::vector<PacketPart> PartsToSend(const FrameIndex& index, const Segment& segment, int i) {
  const PacketEntry& packet = index.packets()[static_cast<size_t>(i)];
  if (segment.pictures.empty()) return {{0, packet.size, -1}};
  std::vector<PacketPart> parts;
  int next = 0;
  for (int p = packet.first_picture; p < packet.first_picture + packet.num_pictures; ++p) {
    const CodedPicture& picture = index.pictures()[static_cast<size_t>(p)];
    if (std::binary_search(segment.pictures.begin(), segment.pictures.end(), p)) {
      parts.push_back({next, picture.end, p});
    } else if (picture.begin > next) {
      parts.push_back({next, picture.begin, -1});
    }
    next = picture.end;
  }
  if (next < packet.size) parts.push_back({next, packet.size, -1});
  return parts;
}

bool DependsOn(const FrameIndex& index, const Segment& segment, int frame, int packet,
               int picture) {
  const int own = index.frames()[static_cast<size_t>(frame)].packet;
  if (packet > own) return false;
  const PacketEntry& entry = index.packets()[static_cast<size_t>(packet)];
  if (entry.num_pictures == 0 || segment.pictures.empty()) {
    return packet == own || !entry.droppable;
  }
  const std::vector<int> pictures = PicturesFor(index, segment.first_packet, {frame});
  if (picture < 0) return HasPictureOf(entry, pictures);
  return std::binary_search(pictures.begin(), pictures.end(), picture);
}

namespace {

// Fills in all but first_packet and frames, which may be in any order and repeat themselves.
void Complete(const FrameIndex& index, bool references_are_certain, Segment* segment) {
  std::vector<int>& frames = segment->frames;
  std::sort(frames.begin(), frames.end(), [&](int a, int b) {
    return index.frames()[static_cast<size_t>(a)].packet <
           index.frames()[static_cast<size_t>(b)].packet;
  });
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  segment->last_packet = index.frames()[static_cast<size_t>(frames.back())].packet;
  const auto next = static_cast<size_t>(segment->last_packet) + 1;
  if (next < index.packets().size() && index.packets()[next].second_field) ++segment->last_packet;
  if (references_are_certain) {
    segment->pictures = PicturesFor(index, segment->first_packet, frames);
  }
  for (int i = segment->first_packet; i <= segment->last_packet; ++i) {
    if (IsNeeded(index, *segment, i)) segment->cost += Cost(PartsToSend(index, *segment, i));
  }
}

// Returns how many of the segments can be decoded at once when only `lookahead` frames may be ahead
// of those that the consumer has (0: any number), at least 1. The first segment needs no room: its
// frames are taken as they come. Room is freed window by window, so that a part of it is not there
// at any time.
int MostSideBySide(const std::vector<Segment>& segments, int64_t lookahead) {
  int64_t most = static_cast<int64_t>(segments.size());
  size_t frames = 1;
  for (const Segment& segment : segments) frames = std::max(frames, segment.frames.size());
  const int64_t room = lookahead - lookahead / 4;
  if (lookahead > 0) most = std::min(most, 1 + room / static_cast<int64_t>(frames));
  return static_cast<int>(std::max<int64_t>(most, 1));
}

}  // namespace

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
    Complete(index, ReferencesAreCertain(index, start), &segment);
    segments.push_back(std::move(segment));
  }
  return segments;
}

bool Continues(const FrameIndex& index, const Segment& a, const Segment& b) {
  return b.first_packet <= a.last_packet + 1 && a.pictures.empty() == b.pictures.empty() &&
         &index.CodecAt(a.first_packet) == &index.CodecAt(b.first_packet);
}

Segment JoinSegments(const FrameIndex& index, const Segment* first, const Segment* last,
                     const std::vector<char>& done) {
  Segment joined;
  bool certain = true;
  for (const Segment* segment = first; segment != last; ++segment) {
    const auto before = joined.frames.size();
    for (const int frame : segment->frames) {
      if (!done[static_cast<size_t>(frame)]) joined.frames.push_back(frame);
    }
    if (joined.frames.size() == before) continue;
    if (before == 0) joined.first_packet = segment->first_packet;
    certain = certain && !segment->pictures.empty();
  }
  if (!joined.frames.empty()) Complete(index, certain, &joined);
  return joined;
}

ThreadPlan PlanThreads(const std::vector<Segment>& segments, int num_threads, int64_t lookahead) {
  ThreadPlan plan;
  if (num_threads <= 1 || segments.empty()) return plan;
  std::vector<int> costs;
  for (const Segment& segment : segments) costs.push_back(segment.cost);
  const int total = std::accumulate(costs.begin(), costs.end(), 0);
  // Estimates the time to decode the segments side by side: each goes to the worker that is free
  // first.
  const int workers = std::min(num_threads, MostSideBySide(segments, lookahead));
  std::vector<int> busy(static_cast<size_t>(workers), 0);
  for (const int cost : costs) *std::min_element(busy.begin(), busy.end()) += cost;
  const double side_by_side = *std::max_element(busy.begin(), busy.end());
  // The share of perfect scaling that frame threads reach. With two cores it is 0.78 for H.264 and
  // 0.60 for HEVC, on a GOP of 50 pictures of 1080p.
  constexpr double kFrameThreadEfficiency = 0.7;
  const double frame_threads = total / (num_threads * kFrameThreadEfficiency);
  if (total > num_threads && frame_threads < side_by_side) {
    plan.threads_per_decoder = num_threads + kSpareThreads;
  } else {
    plan.workers = workers;
  }
  return plan;
}

int PlanWorkers(const std::vector<Segment>& segments, int max_workers, int64_t lookahead) {
  // Opening a decoder takes about as long as decoding this number of pictures.
  constexpr int kPicturesWorthAWorker = 8;
  int cost = 0;
  for (const Segment& segment : segments) cost += segment.cost;
  const int useful = std::max(1, cost / kPicturesWorthAWorker);
  return std::max(1, std::min({max_workers, MostSideBySide(segments, lookahead), useful}));
}

}  // namespace nvc
