#include "tf_nvcodec/core/index/frame_index_io.h"

#include <climits>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/byte_coding.h"
#include "tf_nvcodec/core/base/status.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {
namespace {

// These fail when a field is added.
static_assert(sizeof(PacketEntry) == 72, "write the new field, raise kFrameIndexFormat");
static_assert(sizeof(FrameEntry) == 32, "write the new field, raise kFrameIndexFormat");
static_assert(sizeof(CodedPicture) == 44, "write the new field, raise kFrameIndexFormat");

// Bits of the first number of a packet. Bits that common packets have come first, so that the
// number takes one byte.
enum PacketBit : uint64_t {
  kRandomAccess = 1 << 0,
  kDroppable = 1 << 1,
  kShowsNothing = 1 << 2,
  kKeyFlag = 1 << 3,
  kNewDuration = 1 << 4,  // differs from the packet before
  kHasPictures = 1 << 5,
  kNoPts = 1 << 6,
  kNoDts = 1 << 7,
  kUnreachable = 1 << 8,
  kSecondField = 1 << 9,
  kLost = 1 << 10,
  kOtherFlagsShift = 11,  // the AV_PKT_FLAG_* other than KEY start here
};

// Bits of the first number of a frame.
enum FrameBit : uint64_t {
  kPtsOfPacket = 1 << 0,  // pts is its packet's pts in seconds
  kLastsUntilNext = 1 << 1,
  kStartShift = 2,
};

uint64_t If(bool condition, uint64_t bit) { return condition ? bit : 0; }

// Must compute the same value as FrameIndexBuilder.
double Seconds(int64_t pts, AVRational base) {
  return static_cast<double>(pts) * base.num / base.den;
}

// `number`: index of the picture in the stream. `at`: end of the previous picture in the packet, in
// bytes.
void WritePicture(const CodedPicture& picture, int number, int at, ByteWriter* out) {
  out->Unsigned(static_cast<uint64_t>(picture.begin - at) << 1 | (picture.shown ? 1 : 0));
  out->Unsigned(static_cast<uint64_t>(picture.end - picture.begin));
  uint64_t used = 0;
  for (size_t i = 0; i < picture.references.size(); ++i) {
    if (picture.references[i] >= 0) used |= uint64_t{1} << i;
  }
  out->Unsigned(used);
  for (const int reference : picture.references) {
    if (reference >= 0) out->Unsigned(static_cast<uint64_t>(number - reference));
  }
}

CodedPicture ReadPicture(ByteReader* in, int number, int at, int packet_size) {
  CodedPicture picture;
  const uint64_t head = in->Unsigned();
  const uint64_t size = in->Unsigned();
  const uint64_t gap = head >> 1;
  const auto room = static_cast<uint64_t>(packet_size - at);
  if (gap > room || size > room - gap) in->Fail();
  if (!in->ok()) return picture;
  picture.shown = (head & 1) != 0;
  picture.begin = at + static_cast<int>(gap);
  picture.end = picture.begin + static_cast<int>(size);
  const uint64_t used = in->Unsigned();
  for (size_t i = 0; i < picture.references.size(); ++i) {
    if (((used >> i) & 1) == 0) continue;
    const uint64_t back = in->Unsigned();
    if (back < 1 || back > static_cast<uint64_t>(number)) in->Fail();
    if (!in->ok()) return picture;
    picture.references[i] = number - static_cast<int>(back);
  }
  return picture;
}

}  // namespace

class FrameIndexIo {
 public:
  static absl::StatusOr<std::string> Write(const FrameIndex& index) {
    for (const PacketEntry& packet : index.packets_) {
      if (packet.kept == nullptr) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "the frame index of this ", index.stream_.container,
          " can't be stored, because the file holds packets whose bytes lie in several pieces"));
    }
    ByteWriter out;
    WriteStream(index.stream_, &out);
    out.Signed(index.reorder_depth_);
    out.Double(index.frame_rate_);
    out.Bytes(index.damage_);
    out.Signed(index.only_sample_table_ ? 1 : 0);
    WritePackets(index, &out);
    WriteFrames(index, &out);
    for (const auto& palette : index.palettes_) {
      out.Signed(palette.first_packet);
      out.Bytes(absl::string_view(reinterpret_cast<const char*>(palette.colors.data()),
                                  palette.colors.size()));
    }
    return out.Take();
  }

  static size_t DescriptionBytes(const FrameIndex& index) {
    const auto bytes = [](const AVCodecParameters& codec) {
      return sizeof(codec) + static_cast<size_t>(codec.extradata_size);
    };
    size_t all = bytes(*index.stream_.codec);
    for (const auto& description : index.descriptions_) {
      all += sizeof(description) + bytes(*description.codec);
    }
    return all;
  }

  static absl::StatusOr<FrameIndex> Read(absl::string_view bytes) {
    ByteReader in(bytes);
    if (bytes.size() > INT_MAX) in.Fail();  // each counted item takes at least one byte
    FrameIndex index;
    NVC_RETURN_IF_ERROR(ReadStream(&in, &index.stream_));
    index.reorder_depth_ = static_cast<int>(in.Between(0, FrameIndex::kMaxReorderDepth));
    index.frame_rate_ = in.Double();
    index.damage_ = std::string(in.Bytes());
    index.only_sample_table_ = in.Between(0, 1) != 0;
    ReadPackets(&in, &index);
    ReadFrames(&in, &index);
    index.packets_.shrink_to_fit();
    index.pictures_.shrink_to_fit();
    while (in.ok() && in.left() > 0) {
      const int first = static_cast<int>(in.Between(0, INT_MAX));
      const absl::string_view colors = in.Bytes();
      if (colors.size() != AVPALETTE_SIZE) in.Fail();
      if (in.ok()) index.palettes_.push_back({first, {colors.begin(), colors.end()}});
    }
    if (!in.ok() || !std::isfinite(index.frame_rate_)) {
      return absl::DataLossError("the bytes are not a frame index, or the index is damaged");
    }
    return index;
  }

 private:
  static void WritePackets(const FrameIndex& index, ByteWriter* out) {
    out->Unsigned(index.packets_.size());
    PacketEntry last;
    last.dts = last.offset = 0;
    for (const PacketEntry& packet : index.packets_) {
      const auto other_flags = static_cast<uint64_t>(packet.flags & ~AV_PKT_FLAG_KEY);
      const bool no_pts = packet.pts == AV_NOPTS_VALUE, no_dts = packet.dts == AV_NOPTS_VALUE;
      out->Unsigned(If(packet.random_access, kRandomAccess) | If(packet.droppable, kDroppable) |
                    If(packet.frame < 0, kShowsNothing) |
                    If((packet.flags & AV_PKT_FLAG_KEY) != 0, kKeyFlag) |
                    If(packet.duration != last.duration, kNewDuration) |
                    If(packet.num_pictures > 0, kHasPictures) | If(no_pts, kNoPts) |
                    If(no_dts, kNoDts) | If(packet.unreachable, kUnreachable) |
                    If(packet.second_field, kSecondField) | If(packet.lost, kLost) |
                    other_flags << kOtherFlagsShift);
      if (packet.duration != last.duration) out->Difference(packet.duration, last.duration);
      if (!no_dts) out->Difference(packet.dts, NextDts(last));
      if (!no_pts) out->Difference(packet.pts, no_dts ? last.pts : packet.dts);
      out->Difference(packet.offset, last.offset + last.size);
      out->Unsigned(static_cast<uint64_t>(packet.size));
      if (packet.frame >= 0) out->Difference(packet.frame, last.frame + 1);
      if (packet.num_pictures > 0) {
        out->Unsigned(static_cast<uint64_t>(packet.num_pictures));
        int at = 0;
        for (int i = packet.first_picture; i < packet.first_picture + packet.num_pictures; ++i) {
          const CodedPicture& picture = index.pictures_[static_cast<size_t>(i)];
          WritePicture(picture, i, at, out);
          at = picture.end;
        }
      }
      Advance(packet, &last);
    }
  }

  static void ReadPackets(ByteReader* in, FrameIndex* index) {
    const uint64_t count = in->Unsigned();
    if (count > INT_MAX) in->Fail();
    PacketEntry last;
    last.dts = last.offset = 0;
    for (uint64_t i = 0; i < count && in->ok(); ++i) {
      const uint64_t bits = in->Unsigned();
      PacketEntry packet;
      packet.random_access = (bits & kRandomAccess) != 0;
      packet.droppable = (bits & kDroppable) != 0;
      packet.unreachable = (bits & kUnreachable) != 0;
      packet.second_field = i > 0 && (bits & kSecondField) != 0;
      packet.lost = (bits & kLost) != 0;
      packet.flags = static_cast<int>(bits >> kOtherFlagsShift & INT_MAX) |
                     ((bits & kKeyFlag) != 0 ? AV_PKT_FLAG_KEY : 0);
      packet.duration = (bits & kNewDuration) != 0 ? in->Difference(last.duration) : last.duration;
      if ((bits & kNoDts) == 0) packet.dts = in->Difference(NextDts(last));
      if ((bits & kNoPts) == 0) {
        packet.pts = in->Difference((bits & kNoDts) != 0 ? last.pts : packet.dts);
      }
      packet.offset = in->Difference(last.offset + last.size);
      const uint64_t size = in->Unsigned();
      // This leaves room for the sum of the two, and for FFmpeg's padding of packets.
      if (packet.offset < 0 || packet.offset > INT64_MAX / 2 || size > INT_MAX / 2) in->Fail();
      if (!in->ok()) return;
      packet.size = static_cast<int>(size);
      if ((bits & kShowsNothing) == 0) {
        const int64_t frame = in->Difference(last.frame + 1);
        if (frame < 0 || static_cast<uint64_t>(frame) >= count) in->Fail();
        packet.frame = static_cast<int>(frame);
      }
      packet.first_picture = static_cast<int>(index->pictures_.size());
      if ((bits & kHasPictures) != 0) ReadPictures(in, &packet, &index->pictures_);
      Advance(packet, &last);
      index->packets_.push_back(std::move(packet));
    }
  }

  static void ReadPictures(ByteReader* in, PacketEntry* packet,
                           std::vector<CodedPicture>* pictures) {
    const uint64_t count = in->Unsigned();
    if (count > in->left()) in->Fail();
    int at = 0;
    for (uint64_t i = 0; i < count && in->ok(); ++i) {
      pictures->push_back(
          ReadPicture(in, packet->first_picture + static_cast<int>(i), at, packet->size));
      at = pictures->back().end;
    }
    packet->num_pictures = static_cast<int>(count);
  }

  static int64_t NextDts(const PacketEntry& last) {
    return static_cast<int64_t>(static_cast<uint64_t>(last.dts) +
                                static_cast<uint64_t>(last.duration));
  }

  // Updates the values that the next packet's differences are from.
  static void Advance(const PacketEntry& packet, PacketEntry* last) {
    if (packet.dts != AV_NOPTS_VALUE) last->dts = packet.dts;
    if (packet.pts != AV_NOPTS_VALUE) last->pts = packet.pts;
    if (packet.frame >= 0) last->frame = packet.frame;
    last->duration = packet.duration;
    last->offset = packet.offset;
    last->size = packet.size;
  }

  static void WriteFrames(const FrameIndex& index, ByteWriter* out) {
    const auto& frames = index.frames_;
    out->Unsigned(frames.size());
    int last_start = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      const FrameEntry& frame = frames[i];
      const bool of_packet = frame.pts == PtsOfPacket(index, frame);
      const bool until_next =
          i + 1 < frames.size() && frame.duration == frames[i + 1].time - frame.time;
      const int64_t start = frame.start_packet - last_start;
      out->Unsigned(If(of_packet, kPtsOfPacket) | If(until_next, kLastsUntilNext) |
                    ((static_cast<uint64_t>(start) << 1) ^ (start < 0 ? ~uint64_t{0} : 0))
                        << kStartShift);
      if (!of_packet) out->Double(frame.pts);
      if (!until_next) out->Double(frame.duration);
      last_start = frame.start_packet;
    }
  }

  static void ReadFrames(ByteReader* in, FrameIndex* index) {
    auto& frames = index->frames_;
    const uint64_t count = in->Unsigned();
    if (count == 0 || count > index->packets_.size()) in->Fail();
    if (!in->ok()) return;
    frames.resize(count);
    std::vector<bool> until_next(count, false);
    // Each frame must be named by exactly one packet.
    std::vector<bool> named(count, false);
    uint64_t num_named = 0;
    for (size_t i = 0; i < index->packets_.size(); ++i) {
      const int frame = index->packets_[i].frame;
      if (frame < 0) continue;
      const auto at = static_cast<size_t>(frame);
      if (at >= count || named[at]) in->Fail();
      if (!in->ok()) return;
      named[at] = true;
      ++num_named;
      frames[at].packet = static_cast<int>(i);
    }
    if (num_named != count) in->Fail();
    int64_t start = 0;
    for (size_t i = 0; i < count && in->ok(); ++i) {
      FrameEntry& frame = frames[i];
      const uint64_t bits = in->Unsigned();
      const uint64_t difference = bits >> kStartShift;
      start += static_cast<int64_t>((difference >> 1) ^ ((difference & 1) != 0 ? ~uint64_t{0} : 0));
      if (start < 0 || start > frame.packet) in->Fail();
      frame.start_packet = static_cast<int>(start);
      frame.pts = (bits & kPtsOfPacket) != 0 ? PtsOfPacket(*index, frame) : in->Double();
      until_next[i] = (bits & kLastsUntilNext) != 0;
      if (!until_next[i]) frame.duration = in->Double();
    }
    index->SetFrameTimes();
    for (size_t i = 0; i < count && in->ok(); ++i) {
      if (until_next[i] && i + 1 == count) in->Fail();
      if (until_next[i] && in->ok()) frames[i].duration = frames[i + 1].time - frames[i].time;
      if (!std::isfinite(frames[i].pts) || !std::isfinite(frames[i].duration) ||
          frames[i].duration < 0) {
        in->Fail();
      }
    }
  }

  static double PtsOfPacket(const FrameIndex& index, const FrameEntry& frame) {
    return Seconds(index.packets_[static_cast<size_t>(frame.packet)].pts, index.stream_.time_base);
  }
};

absl::StatusOr<std::string> SerializeFrameIndex(const FrameIndex& index) {
  return FrameIndexIo::Write(index);
}

absl::StatusOr<FrameIndex> ParseFrameIndex(absl::string_view bytes) {
  return FrameIndexIo::Read(bytes);
}

size_t MemoryBytes(const FrameIndex& index) {
  size_t bytes = sizeof(index) + FrameIndexIo::DescriptionBytes(index) +
                 index.stream().container.capacity() + index.damage().capacity() +
                 index.packets().capacity() * sizeof(PacketEntry) +
                 index.frames().capacity() * sizeof(FrameEntry) +
                 index.pictures().capacity() * sizeof(CodedPicture);
  for (const PacketEntry& packet : index.packets()) {
    if (packet.kept == nullptr) continue;
    bytes += sizeof(AVPacket) + static_cast<size_t>(packet.kept->size);
    for (int i = 0; i < packet.kept->side_data_elems; ++i) {
      bytes += packet.kept->side_data[i].size;
    }
  }
  return bytes;
}

namespace {

void WriteRational(AVRational value, ByteWriter* out) {
  out->Signed(value.num);
  out->Signed(value.den);
}

AVRational ReadRational(ByteReader* in, int lowest) {
  AVRational value;
  value.num = static_cast<int>(in->Between(lowest, INT_MAX));
  value.den = static_cast<int>(in->Between(lowest, INT_MAX));
  return value;
}

int ReadInt(ByteReader* in) { return static_cast<int>(in->Between(INT_MIN, INT_MAX)); }

// Reads a value of an FFmpeg enumeration, which must be in [begin, end).
template <typename T>
T ReadEnum(ByteReader* in, int begin, int end) {
  return static_cast<T>(in->Between(begin, end - 1));
}

void WriteCodec(const AVCodecParameters& codec, ByteWriter* out) {
  out->Signed(codec.codec_id);
  out->Unsigned(codec.codec_tag);
  out->Bytes(
      {reinterpret_cast<const char*>(codec.extradata), static_cast<size_t>(codec.extradata_size)});
  out->Signed(codec.bit_rate);
  for (const int field :
       {codec.format, codec.bits_per_coded_sample, codec.bits_per_raw_sample, codec.profile,
        codec.level, codec.width, codec.height, static_cast<int>(codec.field_order),
        static_cast<int>(codec.color_range), static_cast<int>(codec.color_primaries),
        static_cast<int>(codec.color_trc), static_cast<int>(codec.color_space),
        static_cast<int>(codec.chroma_location), codec.video_delay}) {
    out->Signed(field);
  }
  WriteRational(codec.sample_aspect_ratio, out);
}

absl::Status ReadCodec(ByteReader* in, AVCodecParameters* codec) {
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = ReadEnum<AVCodecID>(in, AV_CODEC_ID_NONE + 1, AV_CODEC_ID_FIRST_AUDIO);
  codec->codec_tag = static_cast<uint32_t>(in->Unsigned());
  const absl::string_view extradata = in->Bytes();
  if (!extradata.empty()) {
    codec->extradata =
        static_cast<uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    if (codec->extradata == nullptr) {
      return absl::ResourceExhaustedError("out of memory for a frame index");
    }
    std::memcpy(codec->extradata, extradata.data(), extradata.size());
    codec->extradata_size = static_cast<int>(extradata.size());
  }
  codec->bit_rate = in->Signed();
  codec->format = ReadEnum<int>(in, -1, AV_PIX_FMT_NB);
  for (int* field : {&codec->bits_per_coded_sample, &codec->bits_per_raw_sample, &codec->profile,
                     &codec->level}) {
    *field = ReadInt(in);
  }
  for (int* field : {&codec->width, &codec->height}) {
    *field = static_cast<int>(in->Between(0, INT_MAX));
  }
  codec->field_order = ReadEnum<AVFieldOrder>(in, AV_FIELD_UNKNOWN, AV_FIELD_BT + 1);
  codec->color_range = ReadEnum<AVColorRange>(in, 0, AVCOL_RANGE_NB);
  codec->color_primaries = ReadEnum<AVColorPrimaries>(in, 0, AVCOL_PRI_NB);
  codec->color_trc = ReadEnum<AVColorTransferCharacteristic>(in, 0, AVCOL_TRC_NB);
  codec->color_space = ReadEnum<AVColorSpace>(in, 0, AVCOL_SPC_NB);
  codec->chroma_location = ReadEnum<AVChromaLocation>(in, 0, AVCHROMA_LOC_NB);
  codec->video_delay = ReadInt(in);
  codec->sample_aspect_ratio = ReadRational(in, INT_MIN);
  return absl::OkStatus();
}

void WriteOrientation(const Orientation& shown, ByteWriter* out) {
  out->Signed((shown.turned ? 4 : 0) + (shown.flip_x ? 2 : 0) + (shown.flip_y ? 1 : 0));
}

Orientation ReadOrientation(ByteReader* in) {
  const int64_t bits = in->Between(0, 7);
  return {(bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
}

}  // namespace

void WriteStream(const StreamInfo& stream, ByteWriter* out) {
  out->Bytes(stream.container);
  WriteCodec(*stream.codec, out);
  WriteRational(stream.time_base, out);
  WriteRational(stream.frame_rate, out);
  WriteRational(stream.sample_aspect_ratio, out);
  WriteOrientation(stream.orientation, out);
  out->Bytes(stream.odd_matrix);
  out->Signed(stream.has_audio ? 1 : 0);
}

absl::Status ReadStream(ByteReader* in, StreamInfo* stream) {
  stream->container = std::string(in->Bytes());
  stream->codec.reset(avcodec_parameters_alloc());
  if (stream->codec == nullptr) {
    return absl::ResourceExhaustedError("out of memory for a frame index");
  }
  NVC_RETURN_IF_ERROR(ReadCodec(in, stream->codec.get()));
  stream->time_base = ReadRational(in, 1);
  stream->frame_rate = ReadRational(in, INT_MIN);
  stream->sample_aspect_ratio = ReadRational(in, INT_MIN);
  stream->orientation = ReadOrientation(in);
  stream->odd_matrix = std::string(in->Bytes());
  stream->has_audio = in->Between(0, 1) != 0;
  return absl::OkStatus();
}

}  // namespace nvc
