#include "tf_nvcodec/core/index/frame_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/packet_headers.h"
#include "tf_nvcodec/core/bitstream/packet_info.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/demux/headers_only_source.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"
#include "tf_nvcodec/core/index/decoded_order.h"

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
bool IsAllZeros(const AVPacket& packet) {
  return std::all_of(packet.data, packet.data + packet.size, [](uint8_t b) { return b == 0; });
}

bool MayBeAllZeros(const CodecFacts& codec) {
  return codec.syntax == PacketSyntax::kUnknown || codec.id == AV_CODEC_ID_RAWVIDEO ||
         codec.id == AV_CODEC_ID_UTVIDEO;
}

// Whether each packet of the container stands for a frame. In the others, FFmpeg's parsers find the
// frames in a stream of bytes.
bool CountsPackets(absl::string_view container) {
  return absl::StrContains(container, "mov") || absl::StrContains(container, "matroska") ||
         container == "avi" || container == "flv" || container == "ivf";
}

// How much of a file is read. kPartsOfPackets reads everything when the container has no table of
// its packets. kAllAfterALook opens the file as FFmpeg's programs do: they decode its first frames
// to learn by how much frames are reordered, and times that the container lacks follow from that.
enum class Reading { kSampleTable, kPartsOfPackets, kAll, kAllAfterALook };

}  // namespace

// Builds one FrameIndex.
class FrameIndexBuilder {
 public:
  FrameIndexBuilder(const ByteSource& source, const FrameIndex::Limits& limits,
                    const Cancelled& cancelled, Reading reading)
      : source_(source),
        limits_(limits),
        cancelled_(cancelled),
        look_(reading == Reading::kAllAfterALook ? Demuxer::Look::kEverything
                                                 : Demuxer::Look::kHeaders),
        only_table_(reading == Reading::kSampleTable),
        sparse_(only_table_ || reading == Reading::kPartsOfPackets) {}

  // Returns Aborted when the index needs more of the file than `reading` covers.
  absl::StatusOr<FrameIndex> Build() {
    NVC_RETURN_IF_ERROR(ReadPackets());
    if (!OrderByTimestamps()) {
      if (only_table_) return NotSparse();
      if (!looked_) return absl::AbortedError("only decoding tells the order of frames");
      NVC_RETURN_IF_ERROR(OrderByDecoding());
    }
    index_.only_sample_table_ = only_table_;
    if (index_.frames_.empty()) return NoFrames();
    if (limits_.max_frames > 0 && index_.num_frames() > limits_.max_frames) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "contents has ", index_.num_frames(), " frames, max_frames is ", limits_.max_frames));
    }
    PairFields();
    SetTimes();
    SetReorderDepth();
    NVC_RETURN_IF_ERROR(SetStartPackets());
    index_.packets_.shrink_to_fit();
    index_.frames_.shrink_to_fit();
    index_.pictures_.shrink_to_fit();
    return std::move(index_);
  }

 private:
  absl::Status NoFrames() const {
    return absl::DataLossError(
        absl::StrCat("contents (", index_.stream_.container, ", ",
                     avcodec_get_name(index_.stream_.codec->codec_id), ", ", source_.Size(),
                     " bytes) has a video stream but no frame that can be decoded: ", WhyNoFrames(),
                     index_.damage_.empty() ? "" : absl::StrCat(" (", index_.damage_, ")")));
  }

  const char* WhyNoFrames() const {
    if (index_.packets_.empty()) return "it holds no video packet";
    const bool none_is_wanted = std::all_of(
        index_.packets_.begin(), index_.packets_.end(),
        [](const PacketEntry& packet) { return (packet.flags & AV_PKT_FLAG_DISCARD) != 0; });
    return none_is_wanted ? "its edit list shows none of its packets" : "its packets are damaged";
  }

  absl::Status ReadPackets() {
    const DemuxLimits limits{limits_.max_pixels, limits_.max_packets};
    NVC_ASSIGN_OR_RETURN(auto demuxer, Demuxer::Open(source_, cancelled_, look_, limits));
    NVC_RETURN_IF_ERROR(CheckSize(*demuxer->stream().codec));
    auto inspector = PacketInspector::Create(*demuxer->stream().codec);
    packets_tell_ = knows_codec_ = inspector->understands_codec();
    samples_ = demuxer->Samples();
    const HeaderReader read_headers =
        only_table_ ? &ReadNoHeaders : HeaderReaderFor(*demuxer->stream().codec);
    if (only_table_) {
      if (samples_.empty() || !TableTells(*demuxer->stream().codec)) return NotSparse();
      demuxer->DoNotParse();
    } else {
      sparse_ = sparse_ && read_headers != nullptr && samples_.MeanSize() > source_.ReadOverhead();
    }
    if (sparse_) {
      demuxer->ReadFrom(std::make_unique<HeadersOnlySource>(source_, samples_, read_headers));
    }
    AvPacketPtr packet(av_packet_alloc());
    std::vector<PacketInfo> infos;
    int random_access_points = 0;
    counts_packets_ = CountsPackets(demuxer->stream().container);
    is_avi_ = demuxer->stream().container == "avi";
    const bool may_be_zeros = MayBeAllZeros(FactsOf(demuxer->stream().codec->codec_id));
    while (true) {
      NVC_ASSIGN_OR_RETURN(const bool more, demuxer->Next(packet.get()));
      if (!more) break;
      NVC_ASSIGN_OR_RETURN(const bool described, DescribeAnew(*demuxer->stream().codec, *packet));
      if (described) inspector = PacketInspector::Create(*index_.descriptions_.back().codec);
      PacketInfo info = only_table_ ? InfoOfSample(*packet) : inspector->Inspect(*packet);
      const bool lost = counts_packets_ && IsLost(*packet, info, may_be_zeros);
      if (lost) info.shown = 1;
      random_access_points += info.random_access ? 1 : 0;
      // A decoder that starts at a CRA picture drops the RASL pictures that belong to it.
      if (info.skipped_leading && random_access_points <= 1) info.shown = 0;
      if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) info.shown = 0;
      packets_tell_ = packets_tell_ && info.shown >= 0;
      NVC_RETURN_IF_ERROR(Append(packet.get(), info, lost));
      info.pictures.clear();
      infos.push_back(std::move(info));
      NVC_RETURN_IF_ERROR(CheckCount());
    }
    NVC_RETURN_IF_ERROR(demuxer->read_error());
    SetDroppable(infos);
    for (size_t i = 0; i < infos.size(); ++i) {
      if (infos[i].shown != 0) shown_.push_back(static_cast<int>(i));
      orders_.push_back(infos[i].order);
    }
    packets_tell_ = packets_tell_ && !infos.empty() && infos[0].random_access;
    index_.damage_ = demuxer->damage();
    looked_ = demuxer->looked_at_frames();
    // This comes last because reading packets may still refine what the header says.
    index_.stream_ = demuxer->TakeStream();
    return absl::OkStatus();
  }

  // Whether the frame that the packet stands for is lost: it has only zeros, the file ends inside
  // of it, or nothing in it can be read.
  bool IsLost(const AVPacket& packet, const PacketInfo& info, bool may_be_zeros) const {
    if (only_table_) return false;
    if (!may_be_zeros && IsAllZeros(packet)) return true;
    // FFmpeg marks a packet that the end of the file cuts, and each packet of a sparse reading.
    const bool cut = !sparse_ && (packet.flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (!is_avi_ || !info.unreadable) return cut || info.unreadable;
    // Behind its frames, an AVI with a broken list of them has other bytes that look like packets.
    return packet.pos >= 0 && packet.pos + packet.size >= source_.Size();
  }

  // Returns true when the container describes the stream anew before this packet.
  absl::StatusOr<bool> DescribeAnew(const AVCodecParameters& first, const AVPacket& packet) {
    auto& descriptions = index_.descriptions_;
    NVC_ASSIGN_OR_RETURN(
        AvCodecParametersPtr codec,
        DescribedAnew(descriptions.empty() ? first : *descriptions.back().codec, packet));
    if (codec == nullptr) return false;
    // Parts of packets are found according to the first description.
    if (sparse_) return NotSparse();
    descriptions.push_back({static_cast<int>(index_.packets_.size()), std::move(codec)});
    return true;
  }

  // Marks the packets that no other packet refers to.
  void SetDroppable(const std::vector<PacketInfo>& infos) {
    int highest_layer = 0;
    for (const PacketInfo& info : infos) highest_layer = std::max(highest_layer, info.temporal_id);
    for (size_t first = 0, end = 0; first < infos.size(); first = end) {
      bool certain = true;  // no reference is missing up to the next random access point
      for (; end == first || (end < infos.size() && !infos[end].random_access); ++end) {
        certain &= !infos[end].lacks_reference;
      }
      for (size_t i = first; i < end; ++i) {
        index_.packets_[i].droppable =
            certain && infos[i].droppable && infos[i].temporal_id == highest_layer;
      }
    }
  }

  // True for codecs where a sample is a frame and the header has everything to begin decoding.
  static bool TableTells(const AVCodecParameters& codec) {
    const CodecFacts& facts = FactsOf(codec.codec_id);
    const bool has_extradata =
        facts.header_needs != HeaderNeeds::kSizeAndExtradata || codec.extradata_size > 0;
    return facts.sample_table_tells && codec.width > 0 && has_extradata;
  }

  static PacketInfo InfoOfSample(const AVPacket& packet) {
    PacketInfo info;
    info.random_access = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    return info;
  }

  // The error that makes FrameIndex::Build start again and read more of the packets.
  static absl::Status NotSparse() { return absl::AbortedError("a packet is not in the table"); }

  absl::Status CheckSize(const AVCodecParameters& codec) const {
    const int64_t pixels = static_cast<int64_t>(codec.width) * codec.height;
    if (limits_.max_pixels <= 0 || pixels <= limits_.max_pixels) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("pictures of ", codec.width, "x", codec.height,
                                                     " are above max_pixels, ", limits_.max_pixels,
                                                     "; raise max_pixels if you trust the file"));
  }

  absl::Status CheckCount() const {
    const auto packets = static_cast<int64_t>(index_.packets_.size());
    if (limits_.max_packets <= 0 || packets <= limits_.max_packets) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("contents has more packets than max_packets, ",
                                                     limits_.max_packets,
                                                     "; raise max_packets if you trust the file"));
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
    entry.first_picture = static_cast<int>(index_.pictures_.size());
    entry.num_pictures = static_cast<int>(info.pictures.size());
    index_.pictures_.insert(index_.pictures_.end(), info.pictures.begin(), info.pictures.end());
    if (in_table && packet->side_data_elems == 0) {
      entry.offset = packet->pos;
    } else if (only_table_ || sparse_) {
      return NotSparse();
    } else {
      entry.offset = FindPayload(source_, *packet, &scratch_);
    }
    if (entry.offset < 0) {
      entry.kept.reset(av_packet_alloc());
      if (entry.kept == nullptr) return absl::ResourceExhaustedError("out of memory for a packet");
      av_packet_move_ref(entry.kept.get(), packet);
    }
    index_.packets_.push_back(std::move(entry));
    return absl::OkStatus();
  }

  // Moves a palette beside the packet into the index: decoding may start behind this packet.
  void TakePalette(AVPacket* packet) {
    size_t size = 0;
    const uint8_t* const colors = av_packet_get_side_data(packet, AV_PKT_DATA_PALETTE, &size);
    if (colors == nullptr) return;
    index_.palettes_.push_back({static_cast<int>(index_.packets_.size()), {colors, colors + size}});
    DropSideData(AV_PKT_DATA_PALETTE, packet);
  }

  // Finds the display order from the packets' pts. Returns false when they do not tell it for
  // certain.
  bool OrderByTimestamps() {
    if (!packets_tell_ || shown_.empty()) return false;
    auto& packets = index_.packets_;
    const bool intra_only = std::all_of(packets.begin(), packets.end(),
                                        [](const PacketEntry& p) { return p.random_access; });
    if (intra_only) {
      for (PacketEntry& packet : packets) {
        if (packet.pts == AV_NOPTS_VALUE) packet.pts = packet.dts;
      }
    }
    const auto pts = [&](int i) { return packets[static_cast<size_t>(i)].pts; };
    const bool skips_leading = FactsOf(index_.stream_.codec->codec_id).skips_leading;
    for (const int i : shown_) {
      if (pts(i) == AV_NOPTS_VALUE) return false;
      // Only a decoder knows which frames it shows before the first random access point.
      if ((!skips_leading || only_table_) && pts(i) < pts(0)) return false;
    }
    std::vector<int> order = shown_;
    std::sort(order.begin(), order.end(), [&](int a, int b) { return pts(a) < pts(b); });
    for (size_t i = 1; i < order.size(); ++i) {
      if (pts(order[i]) == pts(order[i - 1])) return false;
    }
    // Two streams in one file may have clocks that overlap.
    if (GoesBack(order) || ContradictsBitstream(order)) return false;
    for (const int i : order) AppendFrame(i, pts(i));
    return true;
  }

  // Whether the clock goes back inside the stream, which reordering does not explain. `order` are
  // the shown packets by their pts.
  bool GoesBack(const std::vector<int>& order) const {
    if (FactsOf(index_.stream_.codec->codec_id).shown_in_order) {
      return !std::is_sorted(order.begin(), order.end());
    }
    std::vector<int> place(index_.packets_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      place[static_cast<size_t>(order[i])] = static_cast<int>(i);
    }
    for (size_t i = 0; i < shown_.size(); ++i) {
      const int earlier = static_cast<int>(i) - place[static_cast<size_t>(shown_[i])];
      if (earlier > FrameIndex::kMaxReorderDepth) return true;
    }
    // Matroska has no dts. FFmpeg makes them up, and they may go back in a good stream.
    if (absl::StrContains(index_.stream_.container, "matroska")) return false;
    int64_t latest = INT64_MIN;
    for (const PacketEntry& packet : index_.packets_) {
      if (packet.dts == AV_NOPTS_VALUE) continue;
      if (packet.dts < latest) return true;
      latest = packet.dts;
    }
    return false;
  }

  // Whether the bitstream has its pictures shown in another order than `order`, the shown packets
  // by their pts. The pts are then times of decoding.
  bool ContradictsBitstream(const std::vector<int>& order) const {
    if (only_table_) {
      // Nobody has looked at the pictures.
      return std::is_sorted(order.begin(), order.end()) &&
             DeclaredReorderDepth(*index_.stream_.codec) > 0;
    }
    // Orders before and behind a lost packet can't be compared: it may have begun a sequence.
    std::vector<int> part(index_.packets_.size());
    for (size_t i = 0; i < part.size(); ++i) {
      part[i] = (i > 0 ? part[i - 1] : 0) + (index_.packets_[i].lost ? 1 : 0);
    }
    std::vector<int64_t> latest(static_cast<size_t>(part.back()) + 1, PacketInfo::kUnknownOrder);
    for (const int packet : order) {
      const int64_t next = orders_[static_cast<size_t>(packet)];
      int64_t& last = latest[static_cast<size_t>(part[static_cast<size_t>(packet)])];
      if (next == PacketInfo::kUnknownOrder) continue;
      if (next < last) return true;
      last = next;
    }
    return false;
  }

  void AppendFrame(int packet, int64_t pts) {
    index_.packets_[static_cast<size_t>(packet)].frame = static_cast<int>(index_.frames_.size());
    index_.frames_.emplace_back();
    index_.frames_.back().packet = packet;
    frame_pts_.push_back(pts);
  }

  // Finds the frames and their display order with a full decode.
  absl::Status OrderByDecoding() {
    index_.frames_.clear();
    frame_pts_.clear();
    DecodedOrder::Packets packets;
    packets.shown = shown_;
    packets.orders = orders_;
    packets.tell_count = packets_tell_;
    // Of a codec that no inspector reads, each packet of such a container is a frame as well.
    packets.count_refused = counts_packets_ && !knows_codec_;
    DecodedOrder decoded(index_, source_, limits_, cancelled_, packets);
    NVC_ASSIGN_OR_RETURN(const std::vector<ShownFrame> frames, decoded.Decode());
    for (const int i : decoded.refused()) index_.packets_[static_cast<size_t>(i)].lost = true;
    for (const ShownFrame& frame : frames) {
      AppendFrame(frame.packet, frame.pts);
      // Some containers flag every packet as a key frame.
      PacketEntry& entry = index_.packets_[static_cast<size_t>(frame.packet)];
      entry.random_access = entry.random_access && (knows_codec_ || frame.key);
    }
    MarkUnreachable();
    // FFmpeg moves packed B-frames of MPEG-4 from one packet to the next. Only a start at the first
    // packet gives the same frames as a full decode.
    if (index_.stream_.codec->codec_id == AV_CODEC_ID_MPEG4 && !packets_tell_) {
      for (size_t i = 1; i < index_.packets_.size(); ++i) index_.packets_[i].random_access = false;
    }
    return absl::OkStatus();
  }

  // Streams of these codecs show every coded picture. A picture after the first random access point
  // that is not shown depends on pictures before it that were cut off.
  void MarkUnreachable() {
    if (!FactsOf(index_.stream_.codec->codec_id).shows_every_picture) return;
    auto& packets = index_.packets_;
    for (size_t i = 1; i < packets.size() && packets[i].frame < 0; ++i) {
      packets[i].unreachable = !packets[i].second_field || packets[i - 1].unreachable;
    }
  }

  // Settles which packets are second fields. A packet that shows a frame of its own holds both
  // fields, whatever its first slice looks like. A frame needs both fields, so both are droppable
  // or neither is.
  void PairFields() {
    auto& packets = index_.packets_;
    for (size_t i = 0; i < packets.size(); ++i) {
      PacketEntry& second = packets[i];
      if (!second.second_field) continue;
      second.second_field = i > 0 && second.frame < 0;
      if (!second.second_field) continue;
      PacketEntry& first = packets[i - 1];
      first.droppable = second.droppable = first.droppable && second.droppable;
    }
  }

  // Sets the times of every frame, in seconds. Where the stream has no pts, its frame rate spaces
  // the frames.
  void SetTimes() {
    auto& frames = index_.frames_;
    const AVRational base = index_.stream_.time_base;
    const double tick = av_q2d(base);
    const double interval = Interval(tick);
    const auto known = [](int64_t pts) { return pts != AV_NOPTS_VALUE; };
    const auto first = std::find_if(frame_pts_.begin(), frame_pts_.end(), known);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (known(frame_pts_[i])) {
        // This rounds only once: 1.2 s comes out as the double nearest to 1.2.
        frames[i].pts = static_cast<double>(frame_pts_[i]) * base.num / base.den;
      } else if (i > 0) {
        frames[i].pts = frames[i - 1].pts + interval;
      } else if (first != frame_pts_.end()) {
        frames[i].pts = static_cast<double>(*first) * base.num / base.den -
                        static_cast<double>(first - frame_pts_.begin()) * interval;
      }
    }
    index_.SetFrameTimes();
    for (size_t i = 0; i + 1 < frames.size(); ++i) {
      frames[i].duration = frames[i + 1].time - frames[i].time;
    }
    const int64_t last_ticks = TicksOf(frames.back());
    frames.back().duration = last_ticks > 0 ? static_cast<double>(last_ticks) * tick : interval;
    index_.frame_rate_ = FrameRate(interval, tick);
  }

  // Returns how long the frame's packets say that it lasts, in units of the time base.
  int64_t TicksOf(const FrameEntry& frame) const {
    const auto first = static_cast<size_t>(frame.packet);
    const bool has_second =
        first + 1 < index_.packets_.size() && index_.packets_[first + 1].second_field;
    const auto ticks = [this](size_t i) {
      return std::max<int64_t>(index_.packets_[i].duration, 0);
    };
    return std::min(ticks(first), INT64_MAX / 2) +
           (has_second ? std::min(ticks(first + 1), INT64_MAX / 2) : 0);
  }

  // Returns the seconds from one frame to the next. When there are no pts, dts tell this better
  // than the header, whose rate may be that of the container's clock.
  double Interval(double tick) const {
    const auto& packets = index_.packets_;
    const PacketEntry& first = packets.front();
    // The last packet that begins a frame.
    const auto end = std::find_if(packets.rbegin(), packets.rend(),
                                  [](const PacketEntry& packet) { return !packet.second_field; });
    const PacketEntry& last = *end;
    const auto begun = std::count_if(packets.begin(), packets.end(), [](const PacketEntry& packet) {
      return !packet.second_field;
    });
    double from_dts = 0;
    if (begun > 1 && first.dts != AV_NOPTS_VALUE && last.dts > first.dts) {
      // The difference may not fit in 64 bits.
      const double ticks = static_cast<double>(last.dts) - static_cast<double>(first.dts);
      from_dts = ticks * tick / static_cast<double>(begun - 1);
    }
    const AVRational tagged = index_.stream_.frame_rate;
    double from_tag = tagged.num > 0 && tagged.den > 0 ? av_q2d(av_inv_q(tagged)) : 0;
    const double from_duration = static_cast<double>(TicksOf(index_.frames_[0])) * tick;
    const bool has_pts = frame_pts_[0] != AV_NOPTS_VALUE;
    // FFmpeg measures the rate of a stream without timestamps, and counts some fields as frames.
    const bool counts_fields = begun < static_cast<int64_t>(packets.size());
    if (!has_pts && counts_fields && from_duration > 0) from_tag = from_duration;
    constexpr double kDefault = 1.0 / 25;  // as in FFmpeg for streams without timing
    for (const double seconds :
         {has_pts ? from_tag : from_dts, has_pts ? from_dts : from_tag, from_duration}) {
      if (seconds > 0) return seconds;
    }
    return kDefault;
  }

  double FrameRate(double interval, double tick) const {
    const auto& frames = index_.frames_;
    const double span = frames.back().time - frames.front().time;
    if (frames.size() < 2 || span <= 0) return 1.0 / interval;
    // Timestamps are rounded to the container's clock. They may measure 23.9757 where the tag is
    // exact, and are further off when there are only a few frames.
    constexpr double kTagTolerance = 1e-3, kMostOfAnInterval = 0.05;
    const auto intervals = static_cast<double>(frames.size() - 1);
    const double off = std::abs(span - intervals * interval);
    const double rounding = std::min(tick, kMostOfAnInterval * interval);
    const bool as_tagged = off <= std::max(kTagTolerance * span, rounding);
    return as_tagged ? 1.0 / interval : intervals / span;
  }

  void SetReorderDepth() {
    int decoded = 0;
    for (const PacketEntry& packet : index_.packets_) {
      if (packet.frame < 0) continue;
      index_.reorder_depth_ = std::max(index_.reorder_depth_, decoded - packet.frame);
      ++decoded;
    }
    index_.reorder_depth_ = std::min(index_.reorder_depth_, FrameIndex::kMaxReorderDepth);
  }

  // Sets where decoding starts for each frame. A frame that follows a random access point in
  // decoding order, but is shown before it, may refer to packets before that point. It is reached
  // from an earlier random access point.
  absl::Status SetStartPackets() {
    // The random access points that show frames, but not those that a later one with an earlier
    // frame replaces. So their frames ascend, and many of them cost no more than a few.
    std::vector<int> shown;
    // Those that show none, without those that a later one with an earlier time replaces.
    std::vector<int> hidden;
    const auto frame_of = [this](int packet) {
      return index_.packets_[static_cast<size_t>(packet)].frame;
    };
    const auto pts_of = [this](int packet) {
      return index_.packets_[static_cast<size_t>(packet)].pts;
    };
    const int count = static_cast<int>(index_.packets_.size());
    for (int i = 0; i < count; ++i) {
      if (IsCancelled(cancelled_)) {
        return cancelled_.Error(
            absl::StrCat("ordering the frames of contents, at packet ", i, " of ", count));
      }
      const int frame = frame_of(i);
      if (index_.packets_[static_cast<size_t>(i)].random_access) {
        if (frame >= 0) {
          while (!shown.empty() && frame_of(shown.back()) > frame) shown.pop_back();
          shown.push_back(i);
        } else if (pts_of(i) != AV_NOPTS_VALUE) {
          while (!hidden.empty() && pts_of(hidden.back()) >= pts_of(i)) hidden.pop_back();
          hidden.push_back(i);
        }
      }
      if (frame < 0) continue;
      const auto later =
          std::upper_bound(shown.begin(), shown.end(), frame,
                           [&](int wanted, int start) { return wanted < frame_of(start); });
      int start = later == shown.begin() ? -1 : *std::prev(later);
      if (pts_of(i) != AV_NOPTS_VALUE) {
        const auto after =
            std::upper_bound(hidden.begin(), hidden.end(), pts_of(i),
                             [&](int64_t wanted, int point) { return wanted < pts_of(point); });
        if (after != hidden.begin()) start = std::max(start, *std::prev(after));
      }
      index_.frames_[static_cast<size_t>(frame)].start_packet = std::max(start, 0);
    }
    return absl::OkStatus();
  }

  const ByteSource& source_;
  const FrameIndex::Limits& limits_;
  const Cancelled& cancelled_;
  const Demuxer::Look look_;
  const bool only_table_;  // packets come without their bytes
  bool sparse_;            // packets come with only the bytes that the inspector needs
  SampleTable samples_;    // empty if the container has none
  FrameIndex index_;
  std::vector<int> shown_;          // packets that show a frame, in decoding order
  std::vector<int64_t> orders_;     // PacketInfo::order of all packets
  std::vector<int64_t> frame_pts_;  // time base, display order; AV_NOPTS_VALUE if unknown
  bool knows_codec_ = true;         // then packets tell where decoding may start
  bool is_avi_ = false;
  bool counts_packets_ = false;  // see CountsPackets
  bool packets_tell_ = true;     // if false, only a full decode gives the frames
  bool looked_ = false;          // at the first frames, as in Reading::kAllAfterALook
  std::vector<uint8_t> scratch_;
};

absl::StatusOr<FrameIndex> FrameIndex::Build(const ByteSource& source, const Limits& limits,
                                             const Cancelled& cancelled) {
  for (const Reading reading : {Reading::kSampleTable, Reading::kPartsOfPackets, Reading::kAll}) {
    if (reading == Reading::kSampleTable && !limits.believe_sample_table) continue;
    auto index = FrameIndexBuilder(source, limits, cancelled, reading).Build();
    if (!absl::IsAborted(index.status())) return index;
  }
  return FrameIndexBuilder(source, limits, cancelled, Reading::kAllAfterALook).Build();
}

const AVCodecParameters& FrameIndex::CodecAt(int i) const {
  const auto next = std::upper_bound(
      descriptions_.begin(), descriptions_.end(), i,
      [](int packet, const Description& description) { return packet < description.first_packet; });
  return next == descriptions_.begin() ? *stream_.codec : *std::prev(next)->codec;
}

double FrameIndex::duration() const {
  if (frames_.empty()) return 0;
  return frames_.back().time + frames_.back().duration - frames_.front().time;
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
  const auto later = std::upper_bound(
      palettes_.begin(), palettes_.end(), i,
      [](int packet, const Palette& palette) { return packet < palette.first_packet; });
  if (later == palettes_.begin()) return absl::OkStatus();
  const std::vector<uint8_t>& colors = std::prev(later)->colors;
  uint8_t* const beside = av_packet_new_side_data(out, AV_PKT_DATA_PALETTE, colors.size());
  if (beside == nullptr) return absl::ResourceExhaustedError("out of memory for a palette");
  std::copy(colors.begin(), colors.end(), beside);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FrameIndex::FrameAt(double seconds, double tolerance) const {
  const double end = frames_.back().time + frames_.back().duration;
  const double latest = seconds + tolerance;
  if (!(latest >= frames_.front().time && seconds < end)) {
    return absl::InvalidArgumentError(absl::StrCat("timestamp ", seconds,
                                                   " s is outside the video, [",
                                                   frames_.front().time, ", ", end, ") s"));
  }
  const auto next =
      std::upper_bound(frames_.begin(), frames_.end(), latest,
                       [](double time, const FrameEntry& frame) { return time < frame.time; });
  return next - frames_.begin() - 1;
}

void FrameIndex::SetFrameTimes() {
  double time = -std::numeric_limits<double>::infinity();
  for (FrameEntry& frame : frames_) frame.time = time = std::max(time, frame.pts);
}

double Float32Tolerance(float seconds) {
  const float next = std::nextafter(seconds, std::numeric_limits<float>::infinity());
  return (static_cast<double>(next) - static_cast<double>(seconds)) / 2;
}

absl::Status CheckSyncSamples(const FrameIndex& index, const ByteSource& source,
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
