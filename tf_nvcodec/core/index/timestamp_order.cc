// Finds the display order of frames by the times of their packets, and where those can't be right.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {
namespace {

bool IsByPacket(const ShownFrame& a, const ShownFrame& b) { return a.packet < b.packet; }
bool IsByPts(const ShownFrame& a, const ShownFrame& b) { return a.pts < b.pts; }

// Whether the clock goes back inside the stream, which reordering does not explain.
bool GoesBack(const PacketScan& scan, const std::vector<ShownFrame>& frames) {
  if (FactsOf(scan.parts.stream.codec->codec_id).shown_in_order) {
    return !std::is_sorted(frames.begin(), frames.end(), IsByPacket);
  }
  if (ReorderDepth(frames) > FrameIndex::kMaxReorderDepth) return true;
  // Matroska has no dts. FFmpeg makes them up, and they may go back in a good stream.
  if (absl::StrContains(scan.parts.stream.container, "matroska")) return false;
  int64_t latest = INT64_MIN;
  for (const PacketEntry& packet : scan.parts.packets) {
    if (packet.dts == AV_NOPTS_VALUE) continue;
    if (packet.dts < latest) return true;
    latest = packet.dts;
  }
  return false;
}

// Whether the bitstream has its pictures shown in another order. The pts are then times of
// decoding.
bool ContradictsBitstream(const PacketScan& scan, const std::vector<ShownFrame>& frames) {
  if (scan.parts.only_sample_table) {
    // Nobody has looked at the pictures.
    return std::is_sorted(frames.begin(), frames.end(), IsByPacket) &&
           DeclaredReorderDepth(*scan.parts.stream.codec) > 0;
  }
  // Orders before and behind a lost packet can't be compared: it may have begun a sequence.
  std::vector<size_t> part;
  size_t lost = 0;
  for (const PacketEntry& packet : scan.parts.packets) part.push_back(lost += packet.lost ? 1 : 0);
  std::vector<int64_t> latest(lost + 1, PacketInfo::kUnknownOrder);
  for (const ShownFrame& frame : frames) {
    const auto packet = static_cast<size_t>(frame.packet);
    const int64_t order = scan.orders[packet];
    if (order == PacketInfo::kUnknownOrder) continue;
    if (order < std::exchange(latest[part[packet]], order)) return true;
  }
  return false;
}

}  // namespace

int ReorderDepth(const std::vector<ShownFrame>& frames) {
  std::vector<std::pair<int, int>> decoded;  // packet and place in display order
  for (const ShownFrame& frame : frames) {
    decoded.emplace_back(frame.packet, static_cast<int>(decoded.size()));
  }
  std::sort(decoded.begin(), decoded.end());
  int depth = 0;
  for (size_t i = 0; i < decoded.size(); ++i) {
    depth = std::max(depth, static_cast<int>(i) - decoded[i].second);
  }
  return depth;
}

std::vector<ShownFrame> OrderByTimestamps(const PacketScan& scan) {
  if (!scan.tells_frames) return {};
  const auto& packets = scan.parts.packets;
  const bool skips_leading = FactsOf(scan.parts.stream.codec->codec_id).skips_leading;
  std::vector<ShownFrame> frames;
  for (const int i : scan.shown) {
    const int64_t pts = packets[static_cast<size_t>(i)].pts;
    if (pts == AV_NOPTS_VALUE) return {};
    // Only a decoder knows which frames it shows before the first random access point.
    if ((!skips_leading || scan.parts.only_sample_table) && pts < packets[0].pts) return {};
    frames.push_back({i, pts});
  }
  std::sort(frames.begin(), frames.end(), IsByPts);
  const auto same = [](const ShownFrame& a, const ShownFrame& b) { return a.pts == b.pts; };
  if (std::adjacent_find(frames.begin(), frames.end(), same) != frames.end()) return {};
  // Two streams in one file may have clocks that overlap.
  if (GoesBack(scan, frames) || ContradictsBitstream(scan, frames)) return {};
  return frames;
}

}  // namespace nvc
