// Finds the random access point from which each frame is decoded.

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {

// A frame that follows a random access point in decoding order, but is shown before it, may refer
// to packets before that point. It is reached from an earlier random access point.
absl::Status SetStartPackets(const Cancelled& cancelled, IndexParts* parts) {
  const auto entry = [&](int packet) -> const PacketEntry& {
    return parts->packets[static_cast<size_t>(packet)];
  };
  // The random access points that show frames, but not those that a later one with an earlier
  // frame replaces. So their frames ascend, and many of them cost no more than a few.
  std::vector<int> shown;
  // Those that show none, without those that a later one with an earlier time replaces.
  std::vector<int> hidden;
  const int count = static_cast<int>(parts->packets.size());
  for (int i = 0; i < count; ++i) {
    if (IsCancelled(cancelled)) {
      return cancelled.Error(
          absl::StrCat("ordering the frames of contents, at packet ", i, " of ", count));
    }
    const int frame = entry(i).frame;
    const int64_t pts = entry(i).pts;
    if (entry(i).random_access) {
      if (frame >= 0) {
        while (!shown.empty() && entry(shown.back()).frame > frame) shown.pop_back();
        shown.push_back(i);
      } else if (pts != AV_NOPTS_VALUE) {
        while (!hidden.empty() && entry(hidden.back()).pts >= pts) hidden.pop_back();
        hidden.push_back(i);
      }
    }
    if (frame < 0) continue;
    const auto later =
        std::upper_bound(shown.begin(), shown.end(), frame,
                         [&](int wanted, int start) { return wanted < entry(start).frame; });
    int start = later == shown.begin() ? -1 : *std::prev(later);
    if (pts != AV_NOPTS_VALUE) {
      const auto after =
          std::upper_bound(hidden.begin(), hidden.end(), pts,
                           [&](int64_t wanted, int point) { return wanted < entry(point).pts; });
      if (after != hidden.begin()) start = std::max(start, *std::prev(after));
    }
    parts->frames[static_cast<size_t>(frame)].start_packet = std::max(start, 0);
  }
  return absl::OkStatus();
}

}  // namespace nvc
