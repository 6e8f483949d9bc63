#include "tf_nvcodec/core/index/frame_index_io.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"

namespace nvc {
namespace {

// These fail when a field is added.
static_assert(sizeof(PacketEntry) == 72, "add the field to IndexFields, raise kFrameIndexFormat");
static_assert(sizeof(FrameEntry) == 32, "add the field to IndexFields, raise kFrameIndexFormat");
static_assert(sizeof(CodedPicture) == 44, "add the field to IndexFields, raise kFrameIndexFormat");

uint64_t BitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// FieldWriter and FieldReader have the same functions, so that one list of the fields serves both.
class FieldWriter {
 public:
  // A number near `expected` takes one byte. The difference wraps around: every pair has one.
  template <typename T>
  void Number(const T& value, T expected = {}) {
    const uint64_t ahead = static_cast<uint64_t>(value) - static_cast<uint64_t>(expected);
    uint64_t code = ahead << 1 ^ (ahead >> 63 != 0 ? ~uint64_t{0} : 0);
    for (; code >= 0x80; code >>= 7) bytes_.push_back(static_cast<char>(code | 0x80));
    bytes_.push_back(static_cast<char>(code));
  }
  template <typename T>
  void Choice(T value, int /*end*/) {
    Number(value);
  }
  void Real(double value, double expected = 0) { Number(BitsOf(value), BitsOf(expected)); }
  template <typename... Flag>
  void Flags(const Flag&... flags) {
    int bits = 0;
    ((bits = bits << 1 | (flags ? 1 : 0)), ...);
    Number(bits);
  }
  void Text(absl::string_view text) {
    Number(text.size());
    bytes_.append(text.data(), text.size());
  }
  template <typename T>
  void Count(const std::vector<T>& items, size_t /*least_bytes*/) {
    Number(items.size());
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class FieldReader {
 public:
  explicit FieldReader(absl::string_view bytes) : left_(bytes) {}

  template <typename T>
  void Number(T& value, T expected = {}) {
    uint64_t code = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return Fail();
      const auto byte = static_cast<uint8_t>(left_.front());
      left_.remove_prefix(1);
      code |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    const uint64_t ahead = code >> 1 ^ ((code & 1) != 0 ? ~uint64_t{0} : 0);
    value = static_cast<T>(static_cast<uint64_t>(expected) + ahead);
  }
  // Reads a value of an enumeration, which is in [0, end).
  template <typename T>
  void Choice(T& value, int end) {
    int64_t number = 0;
    Number(number);
    if (number < 0 || number >= end) return Fail();
    value = static_cast<T>(number);
  }
  void Real(double& value, double expected = 0) {
    uint64_t bits = 0;
    Number(bits, BitsOf(expected));
    std::memcpy(&value, &bits, sizeof(value));
  }
  template <typename... Flag>
  void Flags(Flag&... flags) {
    int bits = 0, at = sizeof...(flags);
    Number(bits);
    ((flags = (bits >> --at & 1) != 0), ...);
  }
  void Text(std::string& text) {
    size_t size = 0;
    Number(size);
    if (size > left_.size()) return Fail();
    text = std::string(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  // Each of the items takes at least `least_bytes`.
  template <typename T>
  void Count(std::vector<T>& items, size_t least_bytes) {
    size_t count = 0;
    Number(count);
    if (count > left_.size() / least_bytes) return Fail();
    items.resize(count);
  }
  bool ReadAll() const { return !failed_ && left_.empty(); }

 private:
  void Fail() {
    failed_ = true;
    left_ = {};
  }

  absl::string_view left_;
  bool failed_ = false;
};

template <typename Io, typename Ratio>
void RatioFields(Io& io, Ratio& ratio) {
  io.Number(ratio.num);
  io.Number(ratio.den);
}

// All that AVCodecParameters of FFmpeg 5.1 has for video, without the extradata.
template <typename Io, typename Codec>
void CodecFields(Io& io, Codec& codec) {
  io.Choice(codec.codec_id, AV_CODEC_ID_FIRST_AUDIO);
  io.Number(codec.codec_tag);
  io.Number(codec.bit_rate);
  io.Choice(codec.field_order, AV_FIELD_BT + 1);
  io.Choice(codec.color_range, AVCOL_RANGE_NB);
  io.Choice(codec.color_primaries, AVCOL_PRI_NB);
  io.Choice(codec.color_trc, AVCOL_TRC_NB);
  io.Choice(codec.color_space, AVCOL_SPC_NB);
  io.Choice(codec.chroma_location, AVCHROMA_LOC_NB);
  for (const auto field : {&AVCodecParameters::format, &AVCodecParameters::bits_per_coded_sample,
                           &AVCodecParameters::bits_per_raw_sample, &AVCodecParameters::profile,
                           &AVCodecParameters::level, &AVCodecParameters::width,
                           &AVCodecParameters::height, &AVCodecParameters::video_delay}) {
    io.Number(codec.*field);
  }
  RatioFields(io, codec.sample_aspect_ratio);
}

template <typename Io, typename Parts>
void IndexFields(Io& io, Parts& parts) {
  auto& stream = parts.stream;
  io.Text(stream.container);
  CodecFields(io, *stream.codec);
  RatioFields(io, stream.time_base);
  RatioFields(io, stream.frame_rate);
  RatioFields(io, stream.sample_aspect_ratio);
  auto& shown = stream.orientation;
  io.Flags(shown.turned, shown.flip_x, shown.flip_y, stream.has_audio, parts.only_sample_table);
  io.Text(stream.odd_matrix);
  io.Text(parts.damage);
  io.Number(parts.reorder_depth);
  io.Real(parts.frame_rate);

  io.Count(parts.packets, 10);
  const PacketEntry none;
  const PacketEntry* last = &none;
  for (auto& packet : parts.packets) {
    for (const auto field :
         {&PacketEntry::pts, &PacketEntry::dts, &PacketEntry::duration, &PacketEntry::offset}) {
      io.Number(packet.*field, last->*field);
    }
    for (const auto field : {&PacketEntry::size, &PacketEntry::flags, &PacketEntry::frame,
                             &PacketEntry::first_picture, &PacketEntry::num_pictures}) {
      io.Number(packet.*field, last->*field);
    }
    io.Flags(packet.random_access, packet.droppable, packet.unreachable, packet.second_field,
             packet.lost);
    last = &packet;
  }
  io.Count(parts.frames, 5);
  FrameEntry before;
  for (auto& frame : parts.frames) {
    io.Number(frame.packet, before.packet);
    io.Number(frame.start_packet, before.start_packet);
    io.Real(frame.pts, before.pts + before.duration);
    io.Real(frame.time, frame.pts);
    io.Real(frame.duration, before.duration);
    before = frame;
  }
  io.Count(parts.pictures, 11);
  CodedPicture earlier;
  for (auto& picture : parts.pictures) {
    io.Number(picture.begin);
    io.Number(picture.end, picture.begin);
    io.Flags(picture.shown);
    for (size_t i = 0; i < picture.references.size(); ++i) {
      io.Number(picture.references[i], earlier.references[i]);
    }
    earlier = picture;
  }
  io.Count(parts.palettes, 2);
  for (auto& palette : parts.palettes) {
    io.Number(palette.first_packet);
    io.Text(palette.colors);
  }
}

}  // namespace

absl::StatusOr<std::string> SerializeFrameIndex(const FrameIndex& index) {
  for (const PacketEntry& packet : index.packets()) {
    if (packet.kept == nullptr) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the frame index of this ", index.stream().container,
        " can't be stored, because the file holds packets whose bytes lie in several pieces"));
  }
  const AVCodecParameters& codec = *index.stream().codec;
  FieldWriter out;
  out.Text(
      {reinterpret_cast<const char*>(codec.extradata), static_cast<size_t>(codec.extradata_size)});
  IndexFields(out, index.parts());
  return out.Take();
}

absl::StatusOr<FrameIndex> ParseFrameIndex(absl::string_view bytes) {
  FieldReader in(bytes);
  IndexParts parts;
  std::string extradata;
  in.Text(extradata);
  parts.stream.codec.reset(avcodec_parameters_alloc());
  if (parts.stream.codec == nullptr) return absl::ResourceExhaustedError("out of memory");
  IndexFields(in, parts);
  if (!in.ReadAll()) return absl::DataLossError("the bytes are no frame index");
  parts.stream.codec->codec_type = AVMEDIA_TYPE_VIDEO;
  NVC_RETURN_IF_ERROR(SetParameterSets(extradata, parts.stream.codec.get()));
  return FrameIndex(std::move(parts));
}

}  // namespace nvc
