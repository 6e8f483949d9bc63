#include "tf_nvcodec/core/index/frame_index.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"

namespace nvc {

double FrameIndex::duration() const {
  if (frames_.empty()) return 0;
  return frames_.back().time + frames_.back().duration - frames_.front().time;
}

void FrameIndex::SetFrameTimes() {
  double time = -std::numeric_limits<double>::infinity();
  for (FrameEntry& frame : frames_) frame.time = time = std::max(time, frame.pts);
}

const AVCodecParameters& FrameIndex::CodecAt(int i) const {
  const auto next = std::upper_bound(
      descriptions_.begin(), descriptions_.end(), i,
      [](int packet, const Description& description) { return packet < description.first_packet; });
  return next == descriptions_.begin() ? *stream_.codec : *std::prev(next)->codec;
}

absl::Status FrameIndex::ReadPacket(const ByteSource& source, int i, AVPacket* out) const {
  const PacketEntry& entry = packets_[static_cast<size_t>(i)];
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
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FrameIndex::FrameAt(double seconds) const {
  const double end = frames_.back().time + frames_.back().duration;
  if (!(seconds >= frames_.front().time && seconds < end)) {
    return absl::InvalidArgumentError(absl::StrCat("timestamp ", seconds,
                                                   " s is outside the video, [",
                                                   frames_.front().time, ", ", end, ") s"));
  }
  const auto next =
      std::upper_bound(frames_.begin(), frames_.end(), seconds,
                       [](double time, const FrameEntry& frame) { return time < frame.time; });
  return next - frames_.begin() - 1;
}

absl::Status CheckStarts(const FrameIndex& index, const ByteSource& source,
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
