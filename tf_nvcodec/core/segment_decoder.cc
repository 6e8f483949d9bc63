#include "tf_nvcodec/core/segment_decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/status.h"

namespace nvc {
namespace {

class SegmentRun {
 public:
  SegmentRun(const FrameIndex& index, const Segment& segment, const EmitFrame& emit)
      : index_(index), segment_(segment), emit_(emit) {
    for (const int frame : segment.frames) missing_.insert({Packet(frame), frame});
  }

  void Blame(int packet, const absl::Status& status) {
    if (!IsUnreachable(index_, segment_, packet)) broken_.insert({packet, status});
  }

  absl::Status Take(const AVFrame& picture) {
    const int packet = static_cast<int>(picture.pkt_pos);
    if (IsDamaged(picture)) {
      Blame(packet, absl::DataLossError("the decoder had to conceal damaged data"));
    }
    const auto wanted = missing_.find(packet);
    if (wanted == missing_.end()) return absl::OkStatus();
    const int frame = wanted->second;
    missing_.erase(wanted);
    return emit_(frame, picture);
  }

  void Finish(DamagedFrames* damaged) {
    for (const auto& [packet, frame] : missing_) {
      Blame(packet, absl::DataLossError("the decoder gave no picture for it"));
    }
    for (const int frame : segment_.frames) {
      for (const auto& [packet, status] : broken_) {
        if (!DependsOn(index_, segment_, frame, packet)) continue;
        damaged->insert({frame, Describe(packet, status)});
        break;
      }
    }
  }

 private:
  int Packet(int frame) const { return index_.frames()[static_cast<size_t>(frame)].packet; }

  absl::Status Describe(int packet, const absl::Status& status) const {
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    const std::string where =
        entry.offset >= 0 ? absl::StrCat(" at byte ", entry.offset) : std::string();
    return absl::Status(status.code(), absl::StrCat("packet ", packet, where, " (", entry.size,
                                                    " bytes): ", status.message()));
  }

  const FrameIndex& index_;
  const Segment& segment_;
  const EmitFrame& emit_;
  std::map<int, int> missing_;          // packet -> wanted frame not seen yet
  std::map<int, absl::Status> broken_;  // by packet
};

// Takes the pictures out of packet `i` that nobody needs: they cost as much as the others.
absl::Status CutPictures(const FrameIndex& index, const Segment& segment, int i, AVPacket* packet) {
  const PacketEntry& entry = index.packets()[static_cast<size_t>(i)];
  int kept = 0, next = 0;  // bytes written, bytes read
  const auto keep_until = [&](int end) {
    if (kept != next) {
      std::memmove(packet->data + kept, packet->data + next, static_cast<size_t>(end - next));
    }
    kept += end - next;
  };
  for (int p = entry.first_picture; p < entry.first_picture + entry.num_pictures; ++p) {
    if (IsPictureNeeded(segment, i, p)) continue;
    // An index that keeps packets hands out references to them.
    const int writable = av_packet_make_writable(packet);
    if (writable < 0) return FfmpegError(writable, "cutting a packet");
    const CodedPicture& picture = index.pictures()[static_cast<size_t>(p)];
    keep_until(picture.begin);
    next = picture.end;
  }
  if (next == 0) return absl::OkStatus();
  keep_until(packet->size);
  av_shrink_packet(packet, kept);
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeSegment(const FrameIndex& index, const ByteSource& source,
                           const Segment& segment, Decoder* decoder, const Cancelled& cancelled,
                           const EmitFrame& emit, DamagedFrames* damaged) {
  SegmentRun run(index, segment, emit);
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  if (packet == nullptr || frame == nullptr) {
    return absl::ResourceExhaustedError("out of memory decoding");
  }
  for (int i = segment.first_packet; i <= segment.last_packet + 1; ++i) {
    if (IsCancelled(cancelled)) return absl::CancelledError("decoding was cancelled");
    const bool drain = i > segment.last_packet;
    if (!drain && !IsNeeded(index, segment, i)) continue;
    if (!drain) {
      NVC_RETURN_IF_ERROR(index.ReadPacket(source, i, packet.get()));
      NVC_RETURN_IF_ERROR(CutPictures(index, segment, i, packet.get()));
    }
    const absl::Status sent = decoder->Send(drain ? nullptr : packet.get());
    if (absl::IsResourceExhausted(sent)) return sent;
    if (!sent.ok() && !drain) run.Blame(i, sent);
    while (true) {
      const auto received = decoder->Receive(frame.get());
      if (absl::IsResourceExhausted(received.status())) return received.status();
      if (!received.ok() && !drain) run.Blame(i, received.status());
      if (!received.ok() || !*received) break;
      NVC_RETURN_IF_ERROR(run.Take(*frame));
      av_frame_unref(frame.get());
    }
  }
  decoder->Reset();
  run.Finish(damaged);
  return absl::OkStatus();
}

}  // namespace nvc
