#include "tf_nvcodec/core/index/decoded_order.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"

namespace nvc {

DecodedOrder::DecodedOrder(const FrameIndex& index, const ByteSource& source,
                           const FrameIndex::Limits& limits, const Cancelled& cancelled,
                           const Packets& packets)
    : index_(index),
      source_(source),
      limits_(limits),
      cancelled_(cancelled),
      packets_(packets),
      orders_(packets.orders) {}

absl::StatusOr<std::vector<ShownFrame>> DecodedOrder::Decode() {
  NVC_RETURN_IF_ERROR(DecodeAll());
  if (FindBreaks()) NVC_RETURN_IF_ERROR(DecodeAll());
  AddAbsent();
  return std::move(frames_);
}

bool DecodedOrder::IsLost(int packet) const {
  return index_.packets()[static_cast<size_t>(packet)].lost || refused_.count(packet) != 0;
}

absl::Status DecodedOrder::DecodeAll() {
  frames_.clear();
  refused_.clear();
  seen_.assign(index_.packets().size(), false);
  DecoderOptions options;
  options.max_pixels = limits_.max_pixels;
  NVC_ASSIGN_OR_RETURN(auto decoder, OpenSoftwareDecoder(*index_.stream().codec,
                                                         index_.stream().time_base, options));
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  const int count = static_cast<int>(index_.packets().size());
  for (int i = 0; i <= count; ++i) {
    if (IsCancelled(cancelled_)) {
      return cancelled_.Error(
          absl::StrCat("decoding contents to count its frames, at packet ", i, " of ", count));
    }
    const bool drains = i == count || breaks_.count(i) != 0;
    if (!drains && IsLost(i)) continue;
    if (!drains) NVC_RETURN_IF_ERROR(index_.ReadPacket(source_, i, packet.get()));
    // A damaged packet shows nothing; the rest of the stream still counts.
    absl::Status error = decoder->Send(drains ? nullptr : packet.get());
    if (absl::IsResourceExhausted(error)) return error;
    NVC_RETURN_IF_ERROR(TakeFrames(decoder.get(), frame.get(), &error));
    if (drains) {
      decoder->Reset();
    } else if (!error.ok() && packets_.count_refused && !seen_[static_cast<size_t>(i)]) {
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
  for (const int i : packets_.shown) {
    if (IsLost(i)) {
      last_lost = i;
    } else if (index_.packets()[static_cast<size_t>(i)].random_access) {
      last_lost = -1;
    } else if (last_lost >= 0 && packets_.tell_count && !seen_[static_cast<size_t>(i)]) {
      breaks_.insert(last_lost);
    }
  }
  return !breaks_.empty();
}

// Gives frames that no decoder shows their places among the others: those of lost packets, and
// pictures that a decoder drops because it lacks a lost one.
void DecodedOrder::AddAbsent() {
  const bool drops =
      packets_.tell_count && FactsOf(index_.stream().codec->codec_id).shows_every_picture;
  bool behind_lost = false;
  for (const int i : packets_.shown) {
    const bool random_access = index_.packets()[static_cast<size_t>(i)].random_access;
    behind_lost = IsLost(i) || (behind_lost && !random_access);
    const bool dropped = drops && behind_lost && !seen_[static_cast<size_t>(i)];
    if (IsLost(i) || dropped) frames_.insert(frames_.begin() + PlaceOfAbsent(i), {i});
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
    return orders_[static_cast<size_t>(frames_[static_cast<size_t>(i)].packet)];
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
  if (place != behind) orders_[static_cast<size_t>(packet)] = order(place - 1) + usual;
  return place;
}

}  // namespace nvc
