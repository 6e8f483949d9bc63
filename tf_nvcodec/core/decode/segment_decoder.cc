#include "tf_nvcodec/core/decode/segment_decoder.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"

namespace nvc {
namespace {

// True for errors that no single packet caused. The decoder can't be used any more after one.
bool EndsDecoding(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status);
}

// Keeps account of which pictures are broken and which frames have come.
class SegmentRun {
 public:
  SegmentRun(const FrameIndex& index, const Segment& segment, Decoder* decoder,
             ErrorReports reports, const Cancelled& cancelled, const FrameEvents& events)
      : index_(index),
        segment_(segment),
        decoder_(decoder),
        reports_(reports),
        cancelled_(cancelled),
        events_(events),
        frame_(av_frame_alloc()) {
    for (const int frame : segment.frames) {
      missing_.insert({Packet(frame), frame});
      expected_.insert(frame);
    }
  }

  bool has_memory() const { return frame_ != nullptr; }
  // True once something is wrong and the decoder does not tell what.
  bool stopped() const { return stopped_; }

  // Sends `data`, which holds `picture` of packet `i`, and takes all frames that come out. It skips
  // a picture that refers to a broken one, because the decoder would use whatever picture is left
  // in that reference slot. A frame that shows a key frame again would even copy it into all other
  // slots.
  absl::Status Decode(const AVPacket& data, int i, int picture) {
    if (RefersToBroken(picture)) {
      broken_pictures_.insert(picture);
      return absl::OkStatus();
    }
    const PacketEntry& packet = index_.packets()[static_cast<size_t>(i)];
    if (packet.lost) {
      Blame(i, picture, absl::DataLossError("its bytes are missing or are no picture"));
      const auto wanted = missing_.find(i);
      return wanted == missing_.end() || stopped_ ? absl::OkStatus() : GiveUp(wanted->second);
    }
    const bool shows = packet.frame >= 0 && !packet.second_field && IsSent(ShownPicture(i));
    if (shows && !IsUnreachable(index_, segment_, i)) owed_.insert(i);
    // The container knows of bytes that are missing, which hardware may not notice.
    if (reports_ == ErrorReports::kLate && (data.flags & AV_PKT_FLAG_CORRUPT) != 0) {
      Blame(i, picture, absl::DataLossError("its container marks it as damaged"));
      if (stopped_) return absl::OkStatus();
    }
    return Feed(&data, [&](const absl::Status& status) { Blame(i, picture, status); });
  }

  absl::Status CheckCancelled(int packet) const {
    if (!IsCancelled(cancelled_)) return absl::OkStatus();
    return cancelled_.Error(absl::StrCat("decoding contents, at packet ", packet, " of ",
                                         segment_.first_packet, " to ", segment_.last_packet));
  }

  absl::Status Drain() {
    return Feed(nullptr, [](const absl::Status&) {});
  }

  // Settles all frames, also those that never came.
  absl::Status Finish() {
    if (reports_ != ErrorReports::kByPacket && decoder_->TakeErrors() && IsUnsure()) {
      stopped_ = true;
    }
    ended_ = true;
    while (!stopped_ && !expected_.empty()) {
      NVC_RETURN_IF_ERROR(CheckCancelled(Packet(*expected_.begin())));
      NVC_RETURN_IF_ERROR(GiveUp(*expected_.begin()));
    }
    while (!stopped_ && !owed_.empty()) GiveUpOwed();
    return Settle();
  }

  // Tells the known causes of damage to frames that are not settled. Looks only at those that are
  // reached from the same random access point as the first.
  void Explain(DamagedFrames* causes) const {
    std::set<int> unsettled = expected_;
    for (const auto& [packet, frame] : written_) unsettled.insert(frame);
    for (const auto& [frame, held] : held_) unsettled.insert(frame);
    if (unsettled.empty()) return;
    const auto start = [this](int frame) {
      return index_.frames()[static_cast<size_t>(frame)].start_packet;
    };
    const bool refused = IsRefused();
    for (const int frame : unsettled) {
      if (start(frame) != start(*unsettled.begin())) continue;
      const auto cause = CauseOf(frame, refused);
      if (cause != broken_.end()) causes->insert({frame, Describe(*cause)});
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

  // Whether the segment's plan sends this picture; -1 stands for a packet that is sent whole.
  bool IsSent(int picture) const {
    return picture < 0 || segment_.pictures.empty() ||
           std::binary_search(segment_.pictures.begin(), segment_.pictures.end(), picture);
  }

  // Whether there are frames of which it is not known if they are damaged.
  bool IsUnsure() const { return !written_.empty() || !expected_.empty() || !held_.empty(); }

  using Broken = std::map<std::pair<int, int>, absl::Status>;  // by packet and picture
  struct Held {
    int packet;
    AvFramePtr picture;
  };

  // Whether the decoder says that it does not decode such a stream.
  bool IsRefused() const {
    return std::any_of(broken_.begin(), broken_.end(),
                       [](const auto& broken) { return absl::IsUnimplemented(broken.second); });
  }

  // Returns the first error that damages `frame`, or end() if there is none. If the decoder
  // `refused` the stream (Unimplemented), it prefers that error: it also explains missing pictures
  // of earlier packets.
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
    // A frame of two fields is known by the packet of its first field.
    if (index_.packets()[static_cast<size_t>(packet)].second_field) --packet;
    if (IsUnreachable(index_, segment_, packet)) return;
    broken_.insert({{packet, picture}, status});
    if (picture >= 0) broken_pictures_.insert(picture);
    if (reports_ != ErrorReports::kByPacket) stopped_ = true;
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
    if (!sent.ok()) {
      on_error(sent);
      // Hardware told this error here. `on_error` may have ignored it.
      if (reports_ == ErrorReports::kLate) decoder_->TakeErrors();
    }
    while (!stopped_) {
      const auto received = decoder_->Receive(frame_.get());
      if (EndsDecoding(received.status())) return received.status();
      if (!received.ok()) on_error(received.status());
      if (!received.ok() || !*received) return absl::OkStatus();
      NVC_RETURN_IF_ERROR(Take(*frame_));
      av_frame_unref(frame_.get());
    }
    return absl::OkStatus();
  }

  absl::Status Take(const AVFrame& picture) {
    const int packet = static_cast<int>(PacketPos(picture));
    // Of damaged MPEG-2 and MPEG-4 streams, FFmpeg may drain a picture that names no packet.
    if (packet < segment_.first_packet || packet > segment_.last_packet) return absl::OkStatus();
    if (IsDamaged(picture)) {
      Blame(packet, ShownPicture(packet),
            absl::DataLossError("the decoder had to conceal damaged data"));
    }
    if (reports_ != ErrorReports::kByPacket && decoder_->TakeErrors()) stopped_ = true;
    const int shown = index_.packets()[static_cast<size_t>(packet)].frame;
    if (index_.only_sample_table() && shown < last_shown_) {
      Blame(packet, -1, absl::DataLossError("the sample table has the frames in another order"));
    }
    last_shown_ = shown;
    if (stopped_) return absl::OkStatus();
    owed_.erase(packet);
    const auto wanted = missing_.find(packet);
    if (wanted != missing_.end()) {
      const int frame = wanted->second;
      missing_.erase(wanted);
      expected_.erase(frame);
      if (HasRoom(frame) || (MayWait(frame) && held_.size() >= events_.most_kept)) {
        NVC_RETURN_IF_ERROR(Write(packet, frame, picture));
      } else {
        AvFramePtr kept(av_frame_clone(&picture));
        if (kept == nullptr) return absl::ResourceExhaustedError("out of memory decoding");
        held_.emplace(frame, Held{packet, std::move(kept)});
      }
    }
    NVC_RETURN_IF_ERROR(GiveUpOverdue(shown));
    return Settle();
  }

  // Whether the receiver may wait for room for the frame.
  bool MayWait(int frame) const {
    return written_.empty() && (expected_.empty() || frame < *expected_.begin()) &&
           (held_.empty() || frame <= held_.begin()->first);
  }

  bool HasRoom(int frame) const { return events_.has_room == nullptr || events_.has_room(frame); }

  // Whether to write the first held frame, for which the receiver may wait if too many are held, or
  // no more pictures come.
  bool CanWriteHeld() const {
    const int frame = held_.begin()->first;
    if (HasRoom(frame)) return true;
    return MayWait(frame) && (ended_ || held_.size() > events_.most_kept);
  }

  absl::Status Write(int packet, int frame, const AVFrame& picture) {
    NVC_RETURN_IF_ERROR(events_.write(frame, picture, MayWait(frame)));
    written_.insert({packet, frame});
    return absl::OkStatus();
  }

  // Settles the frames whose verdict is sure, and then writes those that were held. A picture can
  // show damage as late as it comes out, and a frame shown before it may refer to it. So a frame
  // waits for all pictures that were sent before its own.
  absl::Status Settle() {
    while (!stopped_) {
      if (!written_.empty() && (owed_.empty() || *owed_.begin() >= written_.begin()->first)) {
        const auto [packet, frame] = *written_.begin();
        NVC_RETURN_IF_ERROR(CheckCancelled(packet));
        written_.erase(written_.begin());
        events_.settle(frame, DamageOf(frame));
      } else if (!held_.empty() && CanWriteHeld()) {
        const auto next = held_.extract(held_.begin());
        NVC_RETURN_IF_ERROR(Write(next.mapped().packet, next.key(), *next.mapped().picture));
      } else {
        break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status DamageOf(int frame) const {
    if (broken_.empty()) return absl::OkStatus();
    const auto cause = CauseOf(frame, IsRefused());
    return cause == broken_.end() ? absl::OkStatus() : Describe(*cause);
  }

  // Settles a wanted frame that has not come.
  absl::Status GiveUp(int frame) {
    const int packet = Packet(frame);
    Blame(packet, ShownPicture(packet), absl::DataLossError("the decoder gave no picture for it"));
    if (stopped_) return absl::OkStatus();
    missing_.erase(packet);
    expected_.erase(frame);
    owed_.erase(packet);
    written_.insert({packet, frame});
    return absl::OkStatus();
  }

  // Gives up pictures that the decoder has passed over: it has put out more later ones than it can
  // hold back.
  absl::Status GiveUpOverdue(int latest) {
    if (!events_.give_up_overdue) return absl::OkStatus();
    latest_.push_back(latest);
    if (latest_.size() <= FrameIndex::kMaxReorderDepth + 1) return absl::OkStatus();
    latest_.pop_front();
    while (!stopped_ && !expected_.empty() && *expected_.begin() < latest_.front()) {
      NVC_RETURN_IF_ERROR(GiveUp(*expected_.begin()));
    }
    while (!stopped_ && !owed_.empty() &&
           index_.packets()[static_cast<size_t>(*owed_.begin())].frame < latest_.front()) {
      GiveUpOwed();
    }
    return absl::OkStatus();
  }

  // Gives up the first picture that is owed, which nobody wants. Hardware that lost it without an
  // error may have used another one in its place. It was sent because wanted frames refer to it,
  // and those are not settled before it comes. FFmpeg tells of such an error itself.
  void GiveUpOwed() {
    const int packet = *owed_.begin();
    owed_.erase(owed_.begin());
    if (reports_ != ErrorReports::kLate || !IsUnsure()) return;
    Blame(packet, ShownPicture(packet), absl::DataLossError("the decoder gave no picture for it"));
  }

  absl::Status Describe(const Broken::value_type& broken) const {
    const int packet = broken.first.first;
    const absl::Status& status = broken.second;
    const PacketEntry& entry = index_.packets()[static_cast<size_t>(packet)];
    const std::string where =
        entry.offset >= 0 ? absl::StrCat(" at byte ", entry.offset) : std::string();
    return absl::Status(status.code(), absl::StrCat("packet ", packet, where, " (", entry.size,
                                                    " bytes): ", status.message()));
  }

  const FrameIndex& index_;
  const Segment& segment_;
  Decoder* const decoder_;
  const ErrorReports reports_;
  const Cancelled& cancelled_;
  const FrameEvents& events_;
  AvFramePtr frame_;
  // The wanted frames that have not come: by packet, and in display order.
  std::map<int, int> missing_;
  std::set<int> expected_;
  std::set<std::pair<int, int>> written_;  // packet and frame of those that are not settled
  std::map<int, Held> held_;               // frames that came and are not written
  std::set<int> owed_;                     // packets sent whose pictures have not come
  std::deque<int> latest_;                 // the frames that came last, wanted or not
  int last_shown_ = -1;
  Broken broken_;
  std::set<int> broken_pictures_;  // including those that refer to broken ones
  bool stopped_ = false;
  bool ended_ = false;  // the decoder has no more pictures
};

}  // namespace

void AnnounceSegment(const FrameIndex& index, const ByteSource& source, const Segment& segment) {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  for (int i = segment.first_packet; i <= segment.last_packet; ++i) {
    const PacketEntry& packet = index.packets()[static_cast<size_t>(i)];
    if (packet.offset < 0 || !IsNeeded(index, segment, i)) continue;
    begin = std::min(begin, packet.offset);
    end = std::max(end, packet.offset + packet.size);
  }
  if (begin < end) source.WillRead(begin, end);
}

absl::StatusOr<bool> DecodeSegment(const FrameIndex& index, const ByteSource& source,
                                   const Segment& segment, Decoder* decoder, ErrorReports reports,
                                   const Cancelled& cancelled, const FrameEvents& events,
                                   DamagedFrames* causes) {
  SegmentRun run(index, segment, decoder, reports, cancelled, events);
  AvPacketPtr packet(av_packet_alloc());
  if (packet == nullptr || !run.has_memory()) {
    return absl::ResourceExhaustedError("out of memory decoding");
  }
  for (int i = segment.first_packet; i <= segment.last_packet && !run.stopped(); ++i) {
    if (!IsNeeded(index, segment, i)) continue;
    NVC_RETURN_IF_ERROR(run.CheckCancelled(i));
    NVC_RETURN_IF_ERROR(index.ReadPacket(source, i, packet.get()));
    uint8_t* const bytes = packet->data;
    for (const PacketPart& part : PartsToSend(index, segment, i)) {
      NVC_RETURN_IF_ERROR(run.CheckCancelled(i));
      packet->data = bytes + part.begin;
      packet->size = part.end - part.begin;
      NVC_RETURN_IF_ERROR(run.Decode(*packet, i, part.picture));
      if (run.stopped()) break;
    }
  }
  NVC_RETURN_IF_ERROR(run.CheckCancelled(segment.last_packet));
  if (!run.stopped()) NVC_RETURN_IF_ERROR(run.Drain());
  if (!run.stopped()) NVC_RETURN_IF_ERROR(run.Finish());
  if (run.stopped()) {
    run.Explain(causes);
    return false;
  }
  decoder->Reset();
  return true;
}

}  // namespace nvc
