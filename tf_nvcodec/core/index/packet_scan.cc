// Looks at each packet of a stream once: where its bytes are, and what it says of its frame.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_headers.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/demux/headers_only_source.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {
namespace {

// Containers put a few header bytes between a packet's position and its payload.
constexpr int kHeaderSearchBytes = 64;

// Returns the offset at which all bytes of `packet` lie in `source` in one piece, or -1.
int64_t FindPayload(const ByteSource& source, const AVPacket& packet,
                    std::vector<uint8_t>* buffer) {
  if (packet.pos < 0 || packet.side_data_elems > 0) return -1;
  const auto size = static_cast<size_t>(packet.size);
  buffer->resize(size + kHeaderSearchBytes);
  const auto read = source.ReadAt(packet.pos, buffer->data(), buffer->size());
  if (!read.ok() || *read < size) return -1;
  const size_t last = std::min(*read - size, static_cast<size_t>(kHeaderSearchBytes));
  for (size_t shift = 0; shift <= last; ++shift) {
    if (std::memcmp(buffer->data() + shift, packet.data, size) == 0) {
      return packet.pos + static_cast<int64_t>(shift);
    }
  }
  return -1;
}

// True for a compressed packet of zeros, such as a download that did not finish leaves behind.
// Zeros are a black frame where samples are stored as they are, and may be one in Ut Video.
bool IsBlank(const AVPacket& packet, const CodecFacts& codec) {
  return codec.syntax != PacketSyntax::kUnknown && codec.id != AV_CODEC_ID_RAWVIDEO &&
         codec.id != AV_CODEC_ID_UTVIDEO &&
         std::all_of(packet.data, packet.data + packet.size, [](uint8_t b) { return b == 0; });
}

// Whether each packet of the container stands for a frame. In the others, FFmpeg's parsers find the
// frames in a stream of bytes.
bool CountsPackets(absl::string_view container) {
  return absl::StrContains(container, "mov") || absl::StrContains(container, "matroska") ||
         container == "avi" || container == "flv" || container == "ivf";
}

// True for codecs where a sample is a frame and the header has everything to begin decoding.
bool TableTells(const AVCodecParameters& codec) {
  const CodecFacts& facts = FactsOf(codec.codec_id);
  const bool has_extradata =
      facts.header_needs != HeaderNeeds::kSizeAndExtradata || codec.extradata_size > 0;
  return facts.sample_table_tells && codec.width > 0 && has_extradata;
}

// The error that makes FrameIndex::Build start again and read more of the packets.
absl::Status NeedsMore() { return absl::AbortedError("a packet is not in the table"); }

absl::Status AboveLimit(absl::string_view what, const char* limit, int64_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, limit, ", ", most, "; raise ", limit, " if you trust the file"));
}

// Marks the packets that no other packet refers to.
void SetDroppable(const std::vector<PacketInfo>& infos, std::vector<PacketEntry>* packets) {
  int highest_layer = 0;
  for (const PacketInfo& info : infos) highest_layer = std::max(highest_layer, info.temporal_id);
  for (size_t first = 0, end = 0; first < infos.size(); first = end) {
    bool certain = true;  // no reference is missing up to the next random access point
    for (; end == first || (end < infos.size() && !infos[end].random_access); ++end) {
      certain &= !infos[end].lacks_reference;
    }
    for (size_t i = first; i < end; ++i) {
      (*packets)[i].droppable =
          certain && infos[i].droppable && infos[i].temporal_id == highest_layer;
    }
  }
}

class PacketScanner {
 public:
  PacketScanner(const ByteSource& source, const FrameIndex::Limits& limits, Reading reading)
      : source_(source),
        limits_(limits),
        only_table_(reading == Reading::kSampleTable),
        sparse_(only_table_ || reading == Reading::kPartsOfPackets),
        look_(reading == Reading::kAllAfterALook ? Demuxer::Look::kEverything
                                                 : Demuxer::Look::kHeaders) {}

  absl::StatusOr<PacketScan> Scan(const Cancelled& cancelled) {
    NVC_RETURN_IF_ERROR(Open(cancelled));
    std::vector<PacketInfo> infos;
    AvPacketPtr packet(av_packet_alloc());
    int random_access_points = 0;
    bool only_random_access = true;
    while (true) {
      NVC_ASSIGN_OR_RETURN(const bool more, demuxer_->Next(packet.get()));
      if (!more) break;
      NVC_ASSIGN_OR_RETURN(PacketInfo info, Inspect(*packet));
      const bool lost = scan_.counts_packets && IsLost(*packet, info);
      if (lost) info.shown = 1;
      random_access_points += info.random_access ? 1 : 0;
      // A decoder that starts at a CRA picture drops the RASL pictures that belong to it.
      if (info.skipped_leading && random_access_points <= 1) info.shown = 0;
      if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) info.shown = 0;
      NVC_RETURN_IF_ERROR(Append(packet.get(), info, lost));
      if (info.shown != 0) scan_.shown.push_back(static_cast<int>(infos.size()));
      scan_.orders.push_back(info.order);
      scan_.tells_frames &= info.shown >= 0;
      only_random_access &= parts_.packets.back().random_access;
      info.pictures.clear();
      infos.push_back(std::move(info));
    }
    NVC_RETURN_IF_ERROR(demuxer_->read_error());
    SetDroppable(infos, &parts_.packets);
    scan_.tells_frames &= !infos.empty() && infos[0].random_access;
    for (PacketEntry& entry : parts_.packets) {
      const bool shown_at_once = scan_.tells_frames && only_random_access;
      if (shown_at_once && entry.pts == AV_NOPTS_VALUE) entry.pts = entry.dts;
    }
    parts_.damage = demuxer_->damage();
    parts_.only_sample_table = only_table_;
    scan_.looked = demuxer_->looked_at_frames();
    // This comes last because reading packets may still refine what the header says.
    parts_.stream = demuxer_->TakeStream();
    return std::move(scan_);
  }

 private:
  absl::Status Open(const Cancelled& cancelled) {
    const DemuxLimits limits{limits_.max_pixels, limits_.max_packets};
    NVC_ASSIGN_OR_RETURN(demuxer_, Demuxer::Open(source_, cancelled, look_, limits));
    const AVCodecParameters& codec = *demuxer_->stream().codec;
    if (limits_.max_pixels > 0 && int64_t{codec.width} * codec.height > limits_.max_pixels) {
      return AboveLimit(absl::StrCat("pictures of ", codec.width, "x", codec.height, " are above "),
                        "max_pixels", limits_.max_pixels);
    }
    inspector_ = PacketInspector::Create(codec);
    scan_.tells_frames = scan_.knows_codec = inspector_->understands_codec();
    scan_.counts_packets = CountsPackets(demuxer_->stream().container) && !only_table_;
    samples_ = demuxer_->Samples();
    HeaderReader read_headers = HeaderReaderFor(codec);
    if (only_table_) {
      if (samples_.empty() || !TableTells(codec)) return NeedsMore();
      demuxer_->DoNotParse();
      read_headers = &ReadNoHeaders;
    } else {
      sparse_ = sparse_ && read_headers != nullptr && samples_.MeanSize() > source_.ReadOverhead();
    }
    if (sparse_) {
      demuxer_->ReadFrom(std::make_unique<HeadersOnlySource>(source_, samples_, read_headers));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<PacketInfo> Inspect(const AVPacket& packet) {
    auto& descriptions = parts_.descriptions;
    NVC_ASSIGN_OR_RETURN(
        AvCodecParametersPtr anew,
        DescribedAnew(descriptions.empty() ? *demuxer_->stream().codec : *descriptions.back().codec,
                      packet));
    if (anew != nullptr) {
      // Parts of packets are found according to the first description.
      if (sparse_) return NeedsMore();
      // The new inspector counts from 0.
      inspector_ = PacketInspector::Create(*anew);
      orders_from_ = last_order_ + PacketInfo::OrderIn(1, 0);
      pictures_from_ = static_cast<int>(parts_.pictures.size());
      descriptions.push_back({static_cast<int>(parts_.packets.size()), std::move(anew)});
    }
    PacketInfo info;
    if (only_table_) {
      info.random_access = (packet.flags & AV_PKT_FLAG_KEY) != 0;
      return info;
    }
    info = inspector_->Inspect(packet);
    if (info.order != PacketInfo::kUnknownOrder) info.order += orders_from_;
    last_order_ = std::max(last_order_, info.order);
    for (CodedPicture& picture : info.pictures) {
      for (int& reference : picture.references) {
        if (reference >= 0) reference += pictures_from_;
      }
    }
    return info;
  }

  // Whether the frame that the packet stands for is lost: it has only zeros, the file ends inside
  // of it, or nothing in it can be read.
  bool IsLost(const AVPacket& packet, const PacketInfo& info) const {
    if (IsBlank(packet, FactsOf(demuxer_->stream().codec->codec_id))) return true;
    // FFmpeg marks a packet that the end of the file cuts, and each packet of a sparse reading.
    const bool cut = !sparse_ && (packet.flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (!info.unreadable || demuxer_->stream().container != "avi") return cut || info.unreadable;
    // Behind its frames, an AVI with a broken list of them has other bytes that look like packets.
    return packet.pos >= 0 && packet.pos + packet.size >= source_.Size();
  }

  absl::Status Append(AVPacket* packet, const PacketInfo& info, bool lost) {
    TakePalette(packet);
    const SampleTable::Sample* const sample = samples_.Find(packet->pos);
    // FFmpeg takes the end of a shortened packet for the end of the file, and marks the packet.
    const bool brief = sparse_ && (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (brief) packet->flags &= ~AV_PKT_FLAG_CORRUPT;
    const bool in_table = sample != nullptr && (brief || packet->size == sample->size);
    PacketEntry entry;
    entry.pts = packet->pts;
    entry.dts = packet->dts;
    entry.duration = packet->duration;
    entry.size = in_table ? sample->size : packet->size;
    entry.flags = packet->flags;
    entry.random_access = info.random_access && !info.second_field;
    entry.second_field = info.second_field;
    entry.lost = lost;
    entry.first_picture = static_cast<int>(parts_.pictures.size());
    entry.num_pictures = static_cast<int>(info.pictures.size());
    parts_.pictures.insert(parts_.pictures.end(), info.pictures.begin(), info.pictures.end());
    if (in_table && packet->side_data_elems == 0) {
      entry.offset = packet->pos;
    } else if (sparse_) {
      return NeedsMore();
    } else {
      entry.offset = FindPayload(source_, *packet, &scratch_);
    }
    if (entry.offset < 0) {
      entry.kept.reset(av_packet_alloc());
      if (entry.kept == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
      av_packet_move_ref(entry.kept.get(), packet);
    }
    parts_.packets.push_back(std::move(entry));
    const auto count = static_cast<int64_t>(parts_.packets.size());
    if (limits_.max_packets <= 0 || count <= limits_.max_packets) return absl::OkStatus();
    return AboveLimit("contents has more packets than ", "max_packets", limits_.max_packets);
  }

  // Moves a palette beside the packet into the index: decoding may start behind this packet.
  void TakePalette(AVPacket* packet) {
    size_t size = 0;
    const uint8_t* const colors = av_packet_get_side_data(packet, AV_PKT_DATA_PALETTE, &size);
    if (colors == nullptr) return;
    parts_.palettes.push_back({static_cast<int>(parts_.packets.size()), {colors, colors + size}});
    DropSideData(AV_PKT_DATA_PALETTE, packet);
  }

  const ByteSource& source_;
  const FrameIndex::Limits& limits_;
  const bool only_table_;  // packets come without their bytes
  bool sparse_;            // packets come with only the bytes that the inspector needs
  const Demuxer::Look look_;
  SampleTable samples_;  // empty if the container has none
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<PacketInspector> inspector_;
  int64_t last_order_ = 0;   // the highest so far
  int64_t orders_from_ = 0;  // added to what this inspector says, as is pictures_from_
  int pictures_from_ = 0;
  PacketScan scan_;
  IndexParts& parts_ = scan_.parts;
  std::vector<uint8_t> scratch_;
};

}  // namespace

absl::StatusOr<PacketScan> ScanPackets(const ByteSource& source, const FrameIndex::Limits& limits,
                                       const Cancelled& cancelled, Reading reading) {
  return PacketScanner(source, limits, reading).Scan(cancelled);
}

}  // namespace nvc
