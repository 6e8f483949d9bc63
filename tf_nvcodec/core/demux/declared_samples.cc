#include "tf_nvcodec/core/demux/declared_samples.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// The sound tracks of a file have more samples than its video, and its edits take samples twice.
constexpr double kSamplesForAPacket = 4;
constexpr int kMostDepth = 12;  // FFmpeg goes 10 boxes deep

// Boxes whose boxes FFmpeg reads, in any nesting.
bool IsContainer(uint32_t kind) {
  switch (kind) {
    case BoxKind("moov"):
    case BoxKind("trak"):
    case BoxKind("mdia"):
    case BoxKind("minf"):
    case BoxKind("stbl"):
    case BoxKind("edts"):
    case BoxKind("moof"):
    case BoxKind("traf"):
    case BoxKind("mvex"):
    case BoxKind("udta"):
    case BoxKind("dinf"):
    case BoxKind("tref"):
    case BoxKind("wave"):
      return true;
    default:
      return false;
  }
}

}  // namespace

// The numbers of one trak box.
struct DeclaredSamples::Track {
  uint64_t samples = 0, sample_size = 0, edits = 0;
  bool is_sound = false, has_one_duration = false;
};

absl::Status DeclaredSamples::ReadTo(const ByteSource& source, int64_t end,
                                     const Cancelled& cancelled) {
  if (max_packets_ <= 0) return absl::OkStatus();
  Mp4Reader reader(source);
  file_bytes_ = source.Size();
  while (next_ < std::min(end, file_bytes_)) {
    const Mp4Box box = reader.Box(next_, file_bytes_);
    next_ = box.end;
    Track outside;
    NVC_RETURN_IF_ERROR(ReadInside(&reader, box, 0, &outside, cancelled));
    NVC_RETURN_IF_ERROR(CountTrack(outside));
  }
  return absl::OkStatus();
}

absl::Status DeclaredSamples::ReadInside(Mp4Reader* reader, const Mp4Box& box, int depth,
                                         Track* track, const Cancelled& cancelled) {
  if (IsCancelled(cancelled)) return cancelled.Error("reading the header of contents");
  if (!IsContainer(box.kind) || depth > kMostDepth) return ReadTable(reader, box, track);
  Track own;
  Track* const inside = box.kind == BoxKind("trak") ? &own : track;
  for (int64_t at = box.body; at + 8 <= box.end;) {
    const Mp4Box child = reader->Box(at, box.end);
    NVC_RETURN_IF_ERROR(ReadInside(reader, child, depth + 1, inside, cancelled));
    at = child.end;
  }
  return inside == &own ? CountTrack(own) : absl::OkStatus();
}

absl::Status DeclaredSamples::ReadTable(Mp4Reader* reader, const Mp4Box& box, Track* track) {
  const auto number = [&](int64_t at) { return reader->Number(box.body + at, 4); };
  switch (box.kind) {
    case BoxKind("stsz"):
      track->sample_size = number(4);
      track->samples = std::max(track->samples, number(8));
      break;
    case BoxKind("stz2"):
      track->samples = std::max(track->samples, number(8));
      break;
    case BoxKind("stts"):
      track->has_one_duration = number(4) == 1 && number(12) == 1;
      break;
    case BoxKind("elst"):
      track->edits = std::max(track->edits, number(4));
      break;
    case BoxKind("hdlr"):
      track->is_sound |= number(8) == BoxKind("soun");
      break;
    case BoxKind("trun"):
      return Add(static_cast<double>(number(4)));
    case BoxKind("cmov"):
      return absl::ResourceExhaustedError(
          "contents has a compressed header (cmov), whose size max_packets can't limit; pass "
          "max_packets=0 if you trust the file");
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status DeclaredSamples::CountTrack(const Track& track) {
  const auto samples = static_cast<double>(track.samples);
  // FFmpeg reads uncompressed sound in chunks, not by its samples, of which a second has 48000.
  if (track.is_sound && track.has_one_duration && track.sample_size > 0) {
    sound_bytes_ += samples * static_cast<double>(track.sample_size);
    if (sound_bytes_ <= static_cast<double>(file_bytes_)) return absl::OkStatus();
  }
  NVC_RETURN_IF_ERROR(Add(samples));
  // An edit may begin with all samples back to the first. One edit, or an empty one before it, is
  // usual and takes no sample twice.
  return track.edits <= 2 ? absl::OkStatus() : Add(samples * static_cast<double>(track.edits));
}

absl::Status DeclaredSamples::Add(double samples) {
  declared_ += samples;
  const double most = kSamplesForAPacket * static_cast<double>(max_packets_);
  if (declared_ <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "the header of contents declares %.0f samples, counted again for each edit, but max_packets "
      "is %d and allows %.0f; raise max_packets if you trust the file",
      declared_, max_packets_, most));
}

}  // namespace nvc
