#include "tf_nvcodec/core/clips/packed_clip.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/decode/segment_decoder.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

extern "C" {
#include <libavutil/crc.h>
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// A packed clip has these words, a checksum of all that follows it, a Head, the clip's frames
// (int32), the index, and the bytes of the packets. Numbers are little-endian.
constexpr absl::string_view kMagic = "NVCCLIP";
constexpr char kVersion = kFrameIndexFormat;    // raise that one with every change of these bytes
constexpr size_t kMostBytes = size_t{1} << 30;  // of the packets

struct Head {
  int32_t frames = 0, own = 0, zeros = 0;  // Clip's
  uint32_t index_bytes = 0;
};

constexpr size_t kChecksumAt = kMagic.size() + 1;
constexpr size_t kHeadAt = kChecksumAt + sizeof(uint32_t);
constexpr size_t kFramesAt = kHeadAt + sizeof(Head);

uint32_t Checksum(absl::string_view bytes) {
  return av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), 0,
                reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

template <typename T>
void Append(const T* values, size_t count, std::string* out) {
  out->append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// The packets of a clip: those from one random access point to the next, as far as the clip's
// frames need any of them. The packets that no frame needs stay in the index, without their bytes,
// so that decoding makes the same plan from it.
class ClipCutter {
 public:
  ClipCutter(const FrameIndex& index, const std::vector<int64_t>& frames)
      : index_(index), segments_(PlanSegments(index, frames)) {
    const auto& packets = index.packets();
    for (const Segment& segment : segments_) {
      int end = segment.last_packet + 1;
      while (end < static_cast<int>(packets.size()) &&
             !packets[static_cast<size_t>(end)].random_access) {
        ++end;
      }
      for (int i = segment.first_packet; i < end; ++i) {
        if (packets_.empty() || i > packets_.back()) packets_.push_back(i);
      }
    }
    for (const int i : packets_) {
      const PacketEntry& packet = packets[static_cast<size_t>(i)];
      for (int k = 0; k < packet.num_pictures; ++k) pictures_.push_back(packet.first_picture + k);
      if (packet.frame >= 0 && !packet.second_field) frames_.push_back(packet.frame);
    }
    std::sort(frames_.begin(), frames_.end());
  }

  // Returns the index of these packets. Their bytes are appended to `data`.
  absl::StatusOr<FrameIndex> Cut(const ByteSource& source, std::string* data) const {
    IndexParts parts;
    NVC_RETURN_IF_ERROR(DescribeStream(&parts));
    AvPacketPtr packet(av_packet_alloc());
    if (packet == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
    for (const Segment& segment : segments_) AnnounceSegment(index_, source, segment);
    for (const int number : packets_) {
      NVC_RETURN_IF_ERROR(AddPacket(source, number, packet.get(), data, &parts));
    }
    for (const int number : frames_) {
      FrameEntry frame = index_.frames()[static_cast<size_t>(number)];
      frame.packet = NewPacket(frame.packet);
      // A frame that nobody wants may be reached from packets that are not here.
      frame.start_packet = std::max(NewPacket(frame.start_packet), 0);
      parts.frames.push_back(frame);
    }
    return FrameIndex(std::move(parts));
  }

  // The number of a frame of the whole video among those of the cut.
  int NewFrame(int64_t frame) const { return PlaceIn(frames_, static_cast<int>(frame)); }

 private:
  static int PlaceIn(const std::vector<int>& sorted, int number) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), number);
    return at == sorted.end() || *at != number ? -1 : static_cast<int>(at - sorted.begin());
  }
  int NewPacket(int packet) const { return PlaceIn(packets_, packet); }

  absl::Status DescribeStream(IndexParts* parts) const {
    const AVCodecParameters& codec = index_.CodecAt(packets_.front());
    for (const int packet : packets_) {
      if (&index_.CodecAt(packet) == &codec) continue;
      return absl::UnimplementedError(
          "the stream gets a new description inside this clip, so the clip can't be packed; decode "
          "it from the file");
    }
    const StreamInfo& stream = index_.stream();
    parts->stream.container = stream.container;
    NVC_ASSIGN_OR_RETURN(parts->stream.codec, CopyOf(codec));
    parts->stream.time_base = stream.time_base;
    parts->stream.frame_rate = stream.frame_rate;
    parts->stream.sample_aspect_ratio = stream.sample_aspect_ratio;
    parts->stream.orientation = stream.orientation;
    parts->stream.odd_matrix = stream.odd_matrix;
    parts->reorder_depth = index_.reorder_depth();
    parts->frame_rate = index_.frame_rate();
    for (const Palette& palette : index_.parts().palettes) {
      const auto first = std::lower_bound(packets_.begin(), packets_.end(), palette.first_packet);
      if (first == packets_.end()) break;
      const int place = static_cast<int>(first - packets_.begin());
      auto& palettes = parts->palettes;
      if (!palettes.empty() && palettes.back().first_packet == place) palettes.pop_back();
      palettes.push_back({place, palette.colors});
    }
    return absl::OkStatus();
  }

  absl::Status AddPacket(const ByteSource& source, int number, AVPacket* packet, std::string* data,
                         IndexParts* parts) const {
    const PacketEntry& whole = index_.packets()[static_cast<size_t>(number)];
    const bool needed =
        std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
          return number >= segment.first_packet && number <= segment.last_packet &&
                 IsNeeded(index_, segment, number);
        });
    PacketEntry entry;
    entry.pts = whole.pts;
    entry.dts = whole.dts;
    entry.duration = whole.duration;
    entry.flags = whole.flags;
    entry.frame = whole.frame < 0 ? -1 : NewFrame(whole.frame);
    entry.random_access = whole.random_access;
    entry.droppable = whole.droppable;
    entry.unreachable = whole.unreachable;
    entry.second_field = whole.second_field;
    entry.lost = whole.lost;
    entry.offset = static_cast<int64_t>(data->size());
    if (needed) {
      NVC_RETURN_IF_ERROR(index_.ReadPacket(source, number, packet));
      entry.size = packet->size;
      data->append(reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size));
      av_packet_unref(packet);
    }
    entry.first_picture = static_cast<int>(parts->pictures.size());
    entry.num_pictures = whole.num_pictures;
    for (int i = 0; i < whole.num_pictures; ++i) {
      AddPicture(whole.first_picture + i, needed, &parts->pictures);
    }
    parts->packets.push_back(std::move(entry));
    return absl::OkStatus();
  }

  void AddPicture(int number, bool needed, std::vector<CodedPicture>* pictures) const {
    CodedPicture picture = index_.pictures()[static_cast<size_t>(number)];
    if (!needed) picture.begin = picture.end = 0;
    for (int& reference : picture.references) {
      if (reference < 0) continue;
      // Only a picture before the clip's packets has no new number: nothing here depends on it. A
      // full list says that the references are not known, and stays full.
      const int place = PlaceIn(pictures_, reference);
      reference = place < 0 && &reference == &picture.references.back() ? 0 : place;
    }
    pictures->push_back(picture);
  }

  const FrameIndex& index_;
  const std::vector<Segment> segments_;
  // Numbers in the whole video, in ascending order.
  std::vector<int> packets_, frames_, pictures_;
};

absl::Status Contradiction(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the packed clip contradicts itself: ", what));
}

bool IsBetween(int64_t value, int64_t lowest, int64_t highest) {
  return value >= lowest && value <= highest;
}

absl::Status CheckStream(const IndexParts& parts, const FrameIndex::Limits& limits) {
  const AVCodecParameters& codec = *parts.stream.codec;
  if (!IsBetween(codec.width, 0, UINT16_MAX) || !IsBetween(codec.height, 0, UINT16_MAX)) {
    return Contradiction("the size of its frames");
  }
  if (limits.max_pixels > 0 && int64_t{codec.width} * codec.height > limits.max_pixels) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the clip's frames have ", codec.width, "x", codec.height,
                     " pixels, more than max_pixels=", limits.max_pixels));
  }
  const auto packets = static_cast<int64_t>(parts.packets.size());
  if (limits.max_packets > 0 && packets > limits.max_packets) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the clip has ", packets, " packets, more than max_packets=", limits.max_packets));
  }
  // FFmpeg looks these up in tables, or ends the process for values that no stream has.
  const bool known = IsBetween(codec.format, -1, AV_PIX_FMT_NB - 1) &&
                     IsBetween(codec.video_delay, 0, FrameIndex::kMaxReorderDepth) &&
                     IsBetween(parts.reorder_depth, 0, FrameIndex::kMaxReorderDepth) &&
                     parts.stream.time_base.num > 0 && parts.stream.time_base.den > 0;
  return known ? absl::OkStatus() : Contradiction("the description of its stream");
}

absl::Status CheckPackets(const IndexParts& parts, size_t data_bytes) {
  const auto frames = static_cast<int64_t>(parts.frames.size());
  const auto pictures = static_cast<int64_t>(parts.pictures.size());
  const auto bytes = static_cast<int64_t>(std::min(data_bytes, kMostBytes));
  int64_t picture = 0;
  for (const PacketEntry& packet : parts.packets) {
    if (!IsBetween(packet.size, 0, bytes) || !IsBetween(packet.offset, 0, bytes - packet.size)) {
      return Contradiction("a packet outside its bytes");
    }
    if (!IsBetween(packet.frame, -1, frames - 1)) return Contradiction("a packet's frame");
    if (packet.first_picture != picture || !IsBetween(packet.num_pictures, 0, pictures - picture)) {
      return Contradiction("a packet's pictures");
    }
    int at = 0;
    for (const int64_t end = picture + packet.num_pictures; picture < end; ++picture) {
      const CodedPicture& one = parts.pictures[static_cast<size_t>(picture)];
      if (!IsBetween(one.begin, at, one.end) || one.end > packet.size) {
        return Contradiction("a picture outside its packet");
      }
      at = one.end;
      for (const int reference : one.references) {
        if (!IsBetween(reference, -1, std::max<int64_t>(picture - 1, 0))) {
          return Contradiction("a picture that refers to a later one");
        }
      }
    }
  }
  if (parts.packets.front().second_field) return Contradiction("a field without the first one");
  for (const Palette& palette : parts.palettes) {
    if (palette.colors.size() != AVPALETTE_SIZE) return Contradiction("a palette");
  }
  return absl::OkStatus();
}

absl::Status CheckFrames(const IndexParts& parts) {
  for (size_t i = 0; i < parts.frames.size(); ++i) {
    const FrameEntry& frame = parts.frames[i];
    if (!IsBetween(frame.packet, 0, static_cast<int64_t>(parts.packets.size()) - 1) ||
        !IsBetween(frame.start_packet, 0, frame.packet) || !std::isfinite(frame.pts)) {
      return Contradiction("a frame's packets");
    }
    const PacketEntry& packet = parts.packets[static_cast<size_t>(frame.packet)];
    if (packet.frame != static_cast<int>(i) || packet.second_field) {
      return Contradiction("a frame and its packet");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Head> ReadHead(absl::string_view packed) {
  if (packed.substr(0, kMagic.size()) != kMagic || packed.size() < kFramesAt) {
    return absl::InvalidArgumentError(
        "the bytes are no packed clip, which VideoDataset(decode=False) makes");
  }
  if (packed[kMagic.size()] != kVersion) {
    return absl::InvalidArgumentError(
        "the packed clip was made by another version of tf_nvcodec: pack it again with this one");
  }
  Head head;
  std::memcpy(&head, packed.data() + kHeadAt, sizeof(head));
  const bool fits = head.frames > 0 && IsBetween(head.own, 0, head.frames) && head.zeros >= 0 &&
                    head.index_bytes <= packed.size() &&
                    static_cast<size_t>(head.frames) <= packed.size() / sizeof(int32_t) &&
                    packed.size() - kFramesAt >=
                        sizeof(int32_t) * static_cast<size_t>(head.frames) + head.index_bytes;
  if (!fits) return Contradiction("its head");
  return head;
}

}  // namespace

absl::StatusOr<std::string> PackClip(const FrameIndex& index, const ByteSource& source,
                                     const Clip& clip) {
  if (index.only_sample_table()) {
    NVC_RETURN_IF_ERROR(CheckSyncSamples(index, source, clip.frames));
  }
  const ClipCutter cutter(index, clip.frames);
  std::string data;
  NVC_ASSIGN_OR_RETURN(const FrameIndex cut, cutter.Cut(source, &data));
  if (data.size() > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the packets of the clip have ", data.size(), " bytes: choose shorter clips"));
  }
  NVC_ASSIGN_OR_RETURN(const std::string written, SerializeFrameIndex(cut));
  Head head;
  head.frames = static_cast<int32_t>(clip.frames.size());
  head.own = static_cast<int32_t>(clip.own);
  head.zeros = static_cast<int32_t>(clip.zeros);
  head.index_bytes = static_cast<uint32_t>(written.size());
  std::vector<int32_t> frames;
  for (const int64_t frame : clip.frames) frames.push_back(cutter.NewFrame(frame));

  std::string packed = absl::StrCat(kMagic, absl::string_view(&kVersion, 1));
  packed.resize(kHeadAt);
  Append(&head, 1, &packed);
  Append(frames.data(), frames.size(), &packed);
  absl::StrAppend(&packed, written, data);
  const uint32_t checksum = Checksum(absl::string_view(packed).substr(kHeadAt));
  std::memcpy(&packed[kChecksumAt], &checksum, sizeof(checksum));
  return packed;
}

absl::StatusOr<int64_t> PackedLength(absl::string_view packed) {
  NVC_ASSIGN_OR_RETURN(const Head head, ReadHead(packed));
  return int64_t{head.frames} + head.zeros;
}

absl::StatusOr<UnpackedClip> UnpackClip(absl::string_view packed,
                                        const FrameIndex::Limits& limits) {
  NVC_ASSIGN_OR_RETURN(const Head head, ReadHead(packed));
  uint32_t checksum = 0;
  std::memcpy(&checksum, packed.data() + kChecksumAt, sizeof(checksum));
  if (checksum != Checksum(packed.substr(kHeadAt))) {
    return absl::DataLossError("the packed clip is damaged: its checksum differs");
  }
  std::vector<int32_t> frames(static_cast<size_t>(head.frames));
  std::memcpy(frames.data(), packed.data() + kFramesAt, sizeof(int32_t) * frames.size());
  absl::string_view rest = packed.substr(kFramesAt + sizeof(int32_t) * frames.size());
  UnpackedClip unpacked;
  unpacked.data = rest.substr(head.index_bytes);
  NVC_ASSIGN_OR_RETURN(unpacked.index, ParseFrameIndex(rest.substr(0, head.index_bytes)));

  const IndexParts& parts = unpacked.index.parts();
  if (parts.packets.empty() || parts.frames.empty()) return Contradiction("it has no frame");
  NVC_RETURN_IF_ERROR(CheckStream(parts, limits));
  NVC_RETURN_IF_ERROR(CheckPackets(parts, unpacked.data.size()));
  NVC_RETURN_IF_ERROR(CheckFrames(parts));
  unpacked.clip.own = head.own;
  unpacked.clip.zeros = head.zeros;
  for (const int32_t frame : frames) {
    if (!IsBetween(frame, 0, unpacked.index.num_frames() - 1)) return Contradiction("its frames");
    unpacked.clip.frames.push_back(frame);
  }
  return unpacked;
}

}  // namespace nvc
