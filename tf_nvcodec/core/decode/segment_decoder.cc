#include "tf_nvcodec/core/decode/segment_decoder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// An error that no packet is to blame for, after which the decoder is of no use.
bool EndsDecoding(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status);
}

class SegmentRun {
 public:
  SegmentRun(const FrameIndex& index, const Segment& segment, Decoder* decoder,
             const EmitFrame& emit)
      : index_(index), segment_(segment), decoder_(decoder), emit_(emit), frame_(av_frame_alloc()) {
    for (const int frame : segment.frames) missing_.insert({Packet(frame), frame});
  }

  bool has_memory() const { return frame_ != nullptr; }

  // Sends `data`, `picture` of packet `i`, and takes all frames that come out. Not a picture that
  // refers to a broken one: the decoder would take what is in its place, and a frame that shows
  // the key frame left there would even put it in the place of all others.
  absl::Status Decode(const AVPacket& data, int i, int picture) {
    if (RefersToBroken(picture)) {
      broken_pictures_.insert(picture);
      return absl::OkStatus();
    }
    return Feed(&data, [&](const absl::Status& status) { Blame(i, picture, status); });
  }

  absl::Status Drain() {
    return Feed(nullptr, [](const absl::Status&) {});
  }

  void Finish(DamagedFrames* damaged) {
    for (const auto& [packet, frame] : missing_) {
      Blame(packet, ShownPicture(packet),
            absl::DataLossError("the decoder gave no picture for it"));
    }
    const bool refused = std::any_of(broken_.begin(), broken_.end(), [](const auto& broken) {
      return absl::IsUnimplemented(broken.second);
    });
    for (const int frame : segment_.frames) {
      const auto cause = CauseOf(frame, refused);
      if (cause != broken_.end()) {
        damaged->insert({frame, Describe(cause->first.first, cause->second)});
      }
    }
  }

 private:
  int Packet(int frame) const { return index_.frames()[static_cast<size_t>(frame)].packet; }

  int ShownPicture(int packet) const {
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    for (int p = entry.first_picture; p < entry.first_picture + entry.num_pictures; ++p) {
      if (index_.pictures()[static_cast<size_t>(p)].shown) return p;
    }
    return -1;
  }

  using Broken = std::map<std::pair<int, int>, absl::Status>;  // by packet and picture

  // The first thing that broke a frame. Where the decoder has `refused` the stream: that, which is
  // why it gave nothing for earlier packets either.
  Broken::const_iterator CauseOf(int frame, bool refused) const {
    auto first = broken_.end();
    for (auto it = broken_.begin(); it != broken_.end(); ++it) {
      const auto [packet, picture] = it->first;
      if (!DependsOn(index_, segment_, frame, packet, picture)) continue;
      if (!refused || absl::IsUnimplemented(it->second)) return it;
      if (first == broken_.end()) first = it;
    }
    return first;
  }

  void Blame(int packet, int picture, const absl::Status& status) {
    // Frames go by their first packet.
    if (index_.packets()[static_cast<size_t>(packet)].second_field) --packet;
    if (IsUnreachable(index_, segment_, packet)) return;
    broken_.insert({{packet, picture}, status});
    if (picture >= 0) broken_pictures_.insert(picture);
  }

  bool RefersToBroken(int picture) const {
    if (picture < 0 || broken_pictures_.empty()) return false;
    const auto& references = index_.pictures()[static_cast<size_t>(picture)].references;
    return std::any_of(references.begin(), references.end(),
                       [this](int i) { return broken_pictures_.count(i) != 0; });
  }

  template <typename OnError>
  absl::Status Feed(const AVPacket* data, const OnError& on_error) {
    const absl::Status sent = decoder_->Send(data);
    if (EndsDecoding(sent)) return sent;
    if (!sent.ok()) on_error(sent);
    while (true) {
      const auto received = decoder_->Receive(frame_.get());
      if (EndsDecoding(received.status())) return received.status();
      if (!received.ok()) on_error(received.status());
      if (!received.ok() || !*received) return absl::OkStatus();
      NVC_RETURN_IF_ERROR(Take(*frame_));
      av_frame_unref(frame_.get());
    }
  }

  absl::Status Take(const AVFrame& picture) {
    const int packet = static_cast<int>(picture.pkt_pos);
    if (IsDamaged(picture)) {
      Blame(packet, ShownPicture(packet),
            absl::DataLossError("the decoder had to conceal damaged data"));
    }
    const auto wanted = missing_.find(packet);
    if (wanted == missing_.end()) return absl::OkStatus();
    const int frame = wanted->second;
    missing_.erase(wanted);
    return emit_(frame, picture);
  }

  absl::Status Describe(int packet, const absl::Status& status) const {
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    const std::string where =
        entry.offset >= 0 ? absl::StrCat(" at byte ", entry.offset) : std::string();
    return absl::Status(status.code(), absl::StrCat("packet ", packet, where, " (", entry.size,
                                                    " bytes): ", status.message()));
  }

  const FrameIndex& index_;
  const Segment& segment_;
  Decoder* const decoder_;
  const EmitFrame& emit_;
  AvFramePtr frame_;
  std::map<int, int> missing_;  // packet -> wanted frame not seen yet
  Broken broken_;
  std::set<int> broken_pictures_;  // and those that refer to them
};

}  // namespace

absl::Status DecodeSegment(const FrameIndex& index, const ByteSource& source,
                           const Segment& segment, Decoder* decoder, const Cancelled& cancelled,
                           const EmitFrame& emit, DamagedFrames* damaged) {
  SegmentRun run(index, segment, decoder, emit);
  AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr || !run.has_memory()) {
    return absl::ResourceExhaustedError("out of memory decoding");
  }
  for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
    if (IsCancelled(cancelled)) return absl::CancelledError("decoding was cancelled");
    if (!IsNeeded(index, segment, i)) continue;
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, i, packet.get()));
    uint8_t* const bytes = packet->data;
    for (const PacketPart& part : PartsToSend(index, segment, i)) {
      packet->data = bytes + part.begin;
      packet->size = part.end - part.begin;
      NVC_RETURN_IF_ERROR(run.Decode(*packet, i, part.picture));
    }
  }
  if (IsCancelled(cancelled)) return absl::CancelledError("decoding was cancelled");
  NVC_RETURN_IF_ERROR(run.Drain());
  decoder->Reset();
  run.Finish(damaged);
  return absl::OkStatus();
}

}  // namespace nvc
