#include "tf_nvcodec/core/demux/declared_samples.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// The sound tracks of a file have more samples than its video, and its edits take samples twice.
constexpr double kSamplesForAPacket = 4;
constexpr int kMostDepth = 12;  // FFmpeg goes 10 boxes deep
constexpr size_t kReadAtOnce = 512;

constexpr uint32_t Kind(const char (&name)[5]) {
  uint32_t kind = 0;
  for (int i = 0; i < 4; ++i) kind = kind << 8 | static_cast<uint8_t>(name[i]);
  return kind;
}

// Boxes whose boxes FFmpeg reads, in any nesting.
bool IsContainer(uint32_t kind) {
  switch (kind) {
    case Kind("moov"):
    case Kind("trak"):
    case Kind("mdia"):
    case Kind("minf"):
    case Kind("stbl"):
    case Kind("edts"):
    case Kind("moof"):
    case Kind("traf"):
    case Kind("mvex"):
    case Kind("udta"):
    case Kind("dinf"):
    case Kind("tref"):
    case Kind("wave"):
      return true;
    default:
      return false;
  }
}

}  // namespace

struct DeclaredSamples::Box {
  uint32_t kind = 0;
  int64_t begin = 0, body = 0, end = 0;
};

// The numbers of one trak box.
struct DeclaredSamples::Track {
  uint64_t samples = 0, sample_size = 0, edits = 0;
  bool is_sound = false, has_one_duration = false;
};

absl::Status DeclaredSamples::ReadTo(const ByteSource& source, int64_t end,
                                     const Cancelled& cancelled) {
  if (max_packets_ <= 0) return absl::OkStatus();
  while (next_ < std::min(end, source.Size())) {
    NVC_ASSIGN_OR_RETURN(const Box box, ReadBox(source, next_, source.Size()));
    next_ = box.end;
    Track outside;
    NVC_RETURN_IF_ERROR(ReadInside(source, box, 0, &outside, cancelled));
    NVC_RETURN_IF_ERROR(CountTrack(source, outside));
  }
  return absl::OkStatus();
}

// Returns the box at `at`. It ends at `end` at the latest, as does one with an impossible size.
absl::StatusOr<DeclaredSamples::Box> DeclaredSamples::ReadBox(const ByteSource& source, int64_t at,
                                                              int64_t end) {
  Box box;
  box.begin = at;
  box.body = at + 8;
  box.kind = static_cast<uint32_t>(Number(source, at + 4, 4));
  uint64_t size = Number(source, at, 4);
  if (size == 1) {
    size = Number(source, box.body, 8);
    box.body += 8;
  }
  const auto header = static_cast<uint64_t>(box.body - at);
  const auto most = static_cast<uint64_t>(end - at);
  box.end = size < header || size > most ? end : at + static_cast<int64_t>(size);
  return box;
}

absl::Status DeclaredSamples::ReadInside(const ByteSource& source, const Box& box, int depth,
                                         Track* track, const Cancelled& cancelled) {
  if (IsCancelled(cancelled)) return cancelled.Error("reading the header of contents");
  if (!IsContainer(box.kind) || depth > kMostDepth) return ReadTable(source, box, track);
  Track own;
  Track* const inside = box.kind == Kind("trak") ? &own : track;
  for (int64_t at = box.body; at + 8 <= box.end;) {
    NVC_ASSIGN_OR_RETURN(const Box child, ReadBox(source, at, box.end));
    NVC_RETURN_IF_ERROR(ReadInside(source, child, depth + 1, inside, cancelled));
    at = child.end;
  }
  return inside == &own ? CountTrack(source, own) : absl::OkStatus();
}

absl::Status DeclaredSamples::ReadTable(const ByteSource& source, const Box& box, Track* track) {
  const auto number = [&](int64_t at) { return Number(source, box.body + at, 4); };
  switch (box.kind) {
    case Kind("stsz"):
      track->sample_size = number(4);
      track->samples = std::max(track->samples, number(8));
      break;
    case Kind("stz2"):
      track->samples = std::max(track->samples, number(8));
      break;
    case Kind("stts"):
      track->has_one_duration = number(4) == 1 && number(12) == 1;
      break;
    case Kind("elst"):
      track->edits = std::max(track->edits, number(4));
      break;
    case Kind("hdlr"):
      track->is_sound |= number(8) == Kind("soun");
      break;
    case Kind("trun"):
      return Add(static_cast<double>(number(4)));
    case Kind("cmov"):
      return absl::ResourceExhaustedError(
          "contents has a compressed header (cmov), whose size max_packets can't limit; pass "
          "max_packets=0 if you trust the file");
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status DeclaredSamples::CountTrack(const ByteSource& source, const Track& track) {
  const auto samples = static_cast<double>(track.samples);
  // FFmpeg reads uncompressed sound in chunks, not by its samples, of which a second has 48000.
  if (track.is_sound && track.has_one_duration && track.sample_size > 0) {
    sound_bytes_ += samples * static_cast<double>(track.sample_size);
    if (sound_bytes_ <= static_cast<double>(source.Size())) return absl::OkStatus();
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

// Returns a big-endian number; 0 behind the end and where the source can't be read, which FFmpeg
// finds out too.
uint64_t DeclaredSamples::Number(const ByteSource& source, int64_t at, int bytes) {
  const auto end = [this] { return seen_at_ + static_cast<int64_t>(seen_.size()); };
  if (at < seen_at_ || at + bytes > end()) {
    seen_.resize(kReadAtOnce);
    const auto read = source.ReadAt(at, seen_.data(), seen_.size());
    seen_.resize(read.ok() ? *read : 0);
    seen_at_ = at;
    if (at + bytes > end()) return 0;
  }
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value = value << 8 | seen_[static_cast<size_t>(at - seen_at_ + i)];
  }
  return value;
}

}  // namespace nvc
