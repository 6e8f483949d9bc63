// Finds the frames of a stream, and the order in which they are shown, by decoding all of it. This
// is for streams whose packets do not tell.

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {
namespace {

class DecodedOrder {
 public:
  DecodedOrder(const ByteSource& source, const FrameIndex::Limits& limits,
               const Cancelled& cancelled, PacketScan* scan)
      : source_(source), limits_(limits), cancelled_(cancelled), scan_(*scan) {}

  absl::StatusOr<std::vector<ShownFrame>> Decode() {
    NVC_RETURN_IF_ERROR(DecodeAll());
    if (FindBreaks()) NVC_RETURN_IF_ERROR(DecodeAll());
    AddAbsent();
    MarkPackets();
    return std::move(frames_);
  }

 private:
  absl::Status DecodeAll();
  absl::Status TakeFrames(Decoder* decoder, AVFrame* frame, absl::Status* error);
  bool IsLost(int packet) const;
  bool FindBreaks();
  void AddAbsent();
  ptrdiff_t PlaceOfAbsent(int packet);
  void MarkPackets();
  PacketEntry& EntryOf(int packet) { return scan_.parts.packets[static_cast<size_t>(packet)]; }
  bool ShowsEveryPicture() const {
    return FactsOf(scan_.parts.stream.codec->codec_id).shows_every_picture;
  }

  const ByteSource& source_;
  const FrameIndex::Limits& limits_;
  const Cancelled& cancelled_;
  PacketScan& scan_;
  std::vector<ShownFrame> frames_;
  std::vector<bool> seen_;  // packets that show a frame
  std::set<int> refused_;   // packets that are lost because the decoder refuses them
  std::set<int> breaks_;    // lost packets at which decoding starts anew
};

bool DecodedOrder::IsLost(int packet) const {
  return scan_.parts.packets[static_cast<size_t>(packet)].lost || refused_.count(packet) != 0;
}

absl::Status DecodedOrder::DecodeAll() {
  frames_.clear();
  refused_.clear();
  const IndexParts& parts = scan_.parts;
  seen_.assign(parts.packets.size(), false);
  DecoderOptions options;
  options.max_pixels = limits_.max_pixels;
  NVC_ASSIGN_OR_RETURN(auto decoder,
                       OpenSoftwareDecoder(*parts.stream.codec, parts.stream.time_base, options));
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  const int count = static_cast<int>(parts.packets.size());
  // Of a codec that no inspector reads, each packet of such a container is a frame as well.
  const bool counts_refused = scan_.counts_packets && !scan_.knows_codec;
  for (int i = 0; i <= count; ++i) {
    if (IsCancelled(cancelled_)) {
      return cancelled_.Error(
          absl::StrCat("decoding contents to count its frames, at packet ", i, " of ", count));
    }
    const bool drains = i == count || breaks_.count(i) != 0;
    if (!drains && IsLost(i)) continue;
    if (!drains) NVC_RETURN_IF_ERROR(parts.ReadPacket(source_, i, packet.get()));
    // A damaged packet shows nothing; the rest of the stream still counts.
    absl::Status error = decoder->Send(drains ? nullptr : packet.get());
    if (absl::IsResourceExhausted(error)) return error;
    NVC_RETURN_IF_ERROR(TakeFrames(decoder.get(), frame.get(), &error));
    if (drains) {
      decoder->Reset();
    } else if (!error.ok() && counts_refused && !seen_[static_cast<size_t>(i)]) {
      refused_.insert(i);
    }
  }
  return absl::OkStatus();
}

// Takes the frames that come out. `error` keeps the first error.
absl::Status DecodedOrder::TakeFrames(Decoder* decoder, AVFrame* frame, absl::Status* error) {
  while (true) {
    const auto received = decoder->Receive(frame);
    error->Update(received.status());
    if (!received.ok() || !*received) return absl::OkStatus();
    const int64_t from = PacketPos(*frame);
    const bool named = from >= 0 && from < static_cast<int64_t>(seen_.size());
    if (named && !seen_[static_cast<size_t>(from)]) {
      seen_[static_cast<size_t>(from)] = true;
      frames_.push_back({static_cast<int>(from), frame->best_effort_timestamp, IsKeyFrame(*frame)});
      if (limits_.max_frames > 0 && static_cast<int64_t>(frames_.size()) > limits_.max_frames) {
        return absl::ResourceExhaustedError(
            absl::StrCat("contents has more frames than max_frames, ", limits_.max_frames));
      }
    }
    av_frame_unref(frame);
  }
}

// Finds lost packets behind which the decoder drops pictures: they began a sequence, and the
// decoder takes its picture order counts for those of the sequence before. Returns whether there
// are any.
bool DecodedOrder::FindBreaks() {
  int last_lost = -1;
  for (const int i : scan_.shown) {
    if (IsLost(i)) {
      last_lost = i;
    } else if (EntryOf(i).random_access) {
      last_lost = -1;
    } else if (last_lost >= 0 && scan_.tells_frames && !seen_[static_cast<size_t>(i)]) {
      breaks_.insert(last_lost);
    }
  }
  return !breaks_.empty();
}

// Gives frames that no decoder shows their places among the others: those of lost packets, and
// pictures that a decoder drops because it lacks a lost one.
void DecodedOrder::AddAbsent() {
  const bool drops = scan_.tells_frames && ShowsEveryPicture();
  bool behind_lost = false;
  for (const int i : scan_.shown) {
    const bool random_access = EntryOf(i).random_access;
    behind_lost = IsLost(i) || (behind_lost && !random_access);
    const bool dropped = drops && behind_lost && !seen_[static_cast<size_t>(i)];
    if (!IsLost(i) && !dropped) continue;
    frames_.insert(frames_.begin() + PlaceOfAbsent(i), {i});
    seen_[static_cast<size_t>(i)] = true;
  }
}

// Returns where such a frame belongs: where the orders of the frames around it leave a gap, or else
// behind all frames of earlier packets.
ptrdiff_t DecodedOrder::PlaceOfAbsent(int packet) {
  const auto is_earlier = [packet](const ShownFrame& one) { return one.packet < packet; };
  const ptrdiff_t behind =
      std::find_if(frames_.rbegin(), frames_.rend(), is_earlier).base() - frames_.begin();
  const ptrdiff_t begin = std::max<ptrdiff_t>(behind - FrameIndex::kMaxReorderDepth, 1);
  const ptrdiff_t end =
      std::min(behind + FrameIndex::kMaxReorderDepth, static_cast<ptrdiff_t>(frames_.size()));
  const auto order = [&](ptrdiff_t i) {
    return scan_.orders[static_cast<size_t>(frames_[static_cast<size_t>(i)].packet)];
  };
  // Between frame i and the one before it; 0 if they are of two sequences, or not known.
  const auto step = [&](ptrdiff_t i) -> int64_t {
    const int64_t before = order(i - 1), after = order(i);
    const bool known = before != PacketInfo::kUnknownOrder && after != PacketInfo::kUnknownOrder;
    return known && after - before < INT_MAX ? after - before : 0;
  };
  int64_t usual = INT64_MAX;
  for (ptrdiff_t i = begin; i < end; ++i) {
    if (step(i) > 0) usual = std::min(usual, step(i));
  }
  ptrdiff_t place = behind;
  for (ptrdiff_t i = begin; i < end; ++i) {
    const bool nearer = place == behind || std::abs(i - behind) < std::abs(place - behind);
    if (step(i) > usual && nearer) place = i;
  }
  if (place != behind) scan_.orders[static_cast<size_t>(packet)] = order(place - 1) + usual;
  return place;
}

void DecodedOrder::MarkPackets() {
  auto& packets = scan_.parts.packets;
  for (const int i : refused_) EntryOf(i).lost = true;
  // Some containers flag every packet as a key frame.
  for (const ShownFrame& frame : frames_) {
    EntryOf(frame.packet).random_access &= scan_.knows_codec || frame.key;
  }
  // A picture after the first random access point that is not shown depends on pictures before it
  // that were cut off.
  for (size_t i = 1; ShowsEveryPicture() && i < packets.size() && !seen_[i]; ++i) {
    packets[i].unreachable = !packets[i].second_field || packets[i - 1].unreachable;
  }
  // FFmpeg moves packed B-frames of MPEG-4 from one packet to the next. Only a start at the first
  // packet gives the same frames as a full decode.
  if (scan_.parts.stream.codec->codec_id == AV_CODEC_ID_MPEG4 && !scan_.tells_frames) {
    for (size_t i = 1; i < packets.size(); ++i) packets[i].random_access = false;
  }
}

}  // namespace

absl::StatusOr<std::vector<ShownFrame>> OrderByDecoding(const ByteSource& source,
                                                        const FrameIndex::Limits& limits,
                                                        const Cancelled& cancelled,
                                                        PacketScan* scan) {
  return DecodedOrder(source, limits, cancelled, scan).Decode();
}

}  // namespace nvc
