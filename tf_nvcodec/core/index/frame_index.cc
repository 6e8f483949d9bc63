#include "tf_nvcodec/core/index/frame_index.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {
namespace {

const char* WhyNoFrames(const std::vector<PacketEntry>& packets) {
  if (packets.empty()) return "it holds no video packet";
  const bool none_is_wanted = std::all_of(
      packets.begin(), packets.end(),
      [](const PacketEntry& packet) { return (packet.flags & AV_PKT_FLAG_DISCARD) != 0; });
  return none_is_wanted ? "its edit list shows none of its packets" : "its packets are damaged";
}

absl::Status CheckFrameCount(size_t frames, const ByteSource& source,
                             const FrameIndex::Limits& limits, const IndexParts& parts) {
  if (frames == 0) {
    return absl::DataLossError(absl::StrCat(
        "contents (", parts.stream.container, ", ", avcodec_get_name(parts.stream.codec->codec_id),
        ", ", source.Size(),
        " bytes) has a video stream but no frame that can be decoded: ", WhyNoFrames(parts.packets),
        parts.damage.empty() ? "" : " (", parts.damage, parts.damage.empty() ? "" : ")"));
  }
  if (limits.max_frames <= 0 || static_cast<int64_t>(frames) <= limits.max_frames) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("contents has ", frames, " frames, max_frames is ", limits.max_frames));
}

// Settles which packets are second fields. A packet that shows a frame of its own holds both
// fields, whatever its first slice looks like. A frame needs both fields, so both are droppable
// or neither is.
void PairFields(std::vector<PacketEntry>* packets) {
  for (size_t i = 0; i < packets->size(); ++i) {
    PacketEntry& second = (*packets)[i];
    second.second_field = second.second_field && i > 0 && second.frame < 0;
    if (!second.second_field) continue;
    PacketEntry& first = (*packets)[i - 1];
    first.droppable = second.droppable = first.droppable && second.droppable;
  }
}

// Returns Aborted when the index needs more of the file than `reading` covers.
absl::StatusOr<FrameIndex> BuildBy(Reading reading, const ByteSource& source,
                                   const FrameIndex::Limits& limits, const Cancelled& cancelled) {
  NVC_ASSIGN_OR_RETURN(PacketScan scan, ScanPackets(source, limits, cancelled, reading));
  IndexParts& parts = scan.parts;
  std::vector<ShownFrame> shown = OrderByTimestamps(scan);
  if (shown.empty()) {
    if (parts.only_sample_table || !scan.looked) {
      return absl::AbortedError("only decoding tells the order of frames");
    }
    NVC_ASSIGN_OR_RETURN(shown, OrderByDecoding(source, limits, cancelled, &scan));
  }
  NVC_RETURN_IF_ERROR(CheckFrameCount(shown.size(), source, limits, parts));
  for (const ShownFrame& frame : shown) {
    parts.packets[static_cast<size_t>(frame.packet)].frame = static_cast<int>(parts.frames.size());
    parts.frames.emplace_back().packet = frame.packet;
  }
  PairFields(&parts.packets);
  SetTimes(shown, &parts);
  parts.reorder_depth = std::min(ReorderDepth(shown), FrameIndex::kMaxReorderDepth);
  NVC_RETURN_IF_ERROR(SetStartPackets(cancelled, &parts));
  parts.packets.shrink_to_fit();
  parts.frames.shrink_to_fit();
  parts.pictures.shrink_to_fit();
  return FrameIndex(std::move(parts));
}

size_t BytesOf(const AVCodecParameters& codec) {
  return sizeof(codec) + static_cast<size_t>(codec.extradata_size);
}

}  // namespace

absl::StatusOr<FrameIndex> FrameIndex::Build(const ByteSource& source, const Limits& limits,
                                             const Cancelled& cancelled) {
  for (const Reading reading : {Reading::kSampleTable, Reading::kPartsOfPackets, Reading::kAll}) {
    if (reading == Reading::kSampleTable && !limits.believe_sample_table) continue;
    auto index = BuildBy(reading, source, limits, cancelled);
    if (!absl::IsAborted(index.status())) return index;
  }
  return BuildBy(Reading::kAllAfterALook, source, limits, cancelled);
}

const AVCodecParameters& FrameIndex::CodecAt(int i) const {
  const auto next = std::upper_bound(
      parts_.descriptions.begin(), parts_.descriptions.end(), i,
      [](int packet, const StreamDescription& one) { return packet < one.first_packet; });
  return next == parts_.descriptions.begin() ? *stream().codec : *std::prev(next)->codec;
}

double FrameIndex::duration() const {
  if (frames().empty()) return 0;
  return frames().back().time + frames().back().duration - frames().front().time;
}

size_t FrameIndex::MemoryBytes() const {
  size_t bytes = sizeof(*this) + BytesOf(*stream().codec) + stream().container.capacity() +
                 damage().capacity() + packets().capacity() * sizeof(PacketEntry) +
                 frames().capacity() * sizeof(FrameEntry) +
                 pictures().capacity() * sizeof(CodedPicture);
  for (const StreamDescription& one : parts_.descriptions)
    bytes += sizeof(one) + BytesOf(*one.codec);
  for (const PacketEntry& packet : packets()) {
    if (packet.kept == nullptr) continue;
    bytes += sizeof(AVPacket) + static_cast<size_t>(packet.kept->size);
    for (int i = 0; i < packet.kept->side_data_elems; ++i) {
      bytes += packet.kept->side_data[i].size;
    }
  }
  return bytes;
}

absl::Status IndexParts::ReadPacket(const ByteSource& source, int i, AVPacket* out) const {
  const PacketEntry& entry = packets[static_cast<size_t>(i)];
  av_packet_unref(out);
  if (entry.kept != nullptr) {
    const int referenced = av_packet_ref(out, entry.kept.get());
    if (referenced < 0) return FfmpegError(referenced, "reading a packet");
  } else {
    const int allocated = av_new_packet(out, entry.size);
    if (allocated < 0) return FfmpegError(allocated, "reading a packet");
    NVC_ASSIGN_OR_RETURN(const size_t read,
                         source.ReadAt(entry.offset, out->data, static_cast<size_t>(entry.size)));
    if (read != static_cast<size_t>(entry.size)) {
      return absl::DataLossError(absl::StrCat("packet ", i, " at byte ", entry.offset,
                                              " is cut short: the file shrank while it was read"));
    }
  }
  out->pts = entry.pts;
  out->dts = entry.dts;
  out->duration = entry.duration;
  out->flags = entry.flags;
  out->pos = i;
  const auto later = std::upper_bound(
      palettes.begin(), palettes.end(), i,
      [](int packet, const Palette& palette) { return packet < palette.first_packet; });
  if (later == palettes.begin()) return absl::OkStatus();
  const std::string& colors = std::prev(later)->colors;
  uint8_t* const beside = av_packet_new_side_data(out, AV_PKT_DATA_PALETTE, colors.size());
  if (beside == nullptr) return absl::ResourceExhaustedError("out of memory for a palette");
  std::copy(colors.begin(), colors.end(), beside);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FrameIndex::FrameAt(double seconds, double tolerance) const {
  const double end = frames().back().time + frames().back().duration;
  const double latest = seconds + tolerance;
  if (!(latest >= frames().front().time && seconds < end)) {
    return absl::InvalidArgumentError(absl::StrCat("timestamp ", seconds,
                                                   " s is outside the video, [",
                                                   frames().front().time, ", ", end, ") s"));
  }
  const auto next =
      std::upper_bound(frames().begin(), frames().end(), latest,
                       [](double time, const FrameEntry& frame) { return time < frame.time; });
  return next - frames().begin() - 1;
}

double Float32Tolerance(float seconds) {
  const float next = std::nextafter(seconds, std::numeric_limits<float>::infinity());
  return (static_cast<double>(next) - static_cast<double>(seconds)) / 2;
}

absl::Status CheckSyncSamples(const FrameIndex& index, const ByteSource& source,
                              const std::vector<int64_t>& frames) {
  std::set<int> starts;
  for (const int64_t frame : frames) {
    starts.insert(index.frames()[static_cast<size_t>(frame)].start_packet);
  }
  const auto inspector = PacketInspector::Create(*index.stream().codec);
  AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
  for (const int start : starts) {
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, start, packet.get()));
    const PacketInfo info = inspector->Inspect(*packet);
    av_packet_unref(packet.get());
    if (!info.random_access || info.shown != 1) {
      return absl::AbortedError(absl::StrCat(
          "sample ", start, " is a sync sample, but no frame that decoding can begin with"));
    }
  }
  return absl::OkStatus();
}

}  // namespace nvc
