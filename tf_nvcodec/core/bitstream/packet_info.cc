#include "tf_nvcodec/core/bitstream/packet_info.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tf_nvcodec/core/bitstream/av1_inspector.h"
#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/h264_inspector.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/picture_order.h"
#include "tf_nvcodec/core/bitstream/vp9_superframe.h"
#include "tf_nvcodec/core/format/codec_table.h"

namespace nvc {
namespace {

bool FlaggedKey(const AVPacket& packet) { return (packet.flags & AV_PKT_FLAG_KEY) != 0; }

// Reads HEVC: the NAL unit types of ITU-T H.265, table 7-1.
class HevcInspector : public PacketInspector {
 public:
  explicit HevcInspector(const AVCodecParameters& codec)
      : length_bytes_(
            NalLengthBytes(codec.extradata, static_cast<size_t>(codec.extradata_size), true)),
        picture_order_(codec) {}

  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    bool is_read = false, has_units = false, idr = false;
    NalWalker walker(packet.data, static_cast<size_t>(packet.size), length_bytes_);
    for (NalUnit nal; walker.Next(&nal);) {
      if (nal.size < 2) continue;
      const int type = (nal.data[0] >> 1) & 63;
      const int layer = ((nal.data[0] & 1) << 5) | (nal.data[1] >> 3);
      if (layer > 0) continue;
      constexpr int kEndOfSequence = 36, kEndOfBitstream = 37;
      constexpr int kLastDefined = 40;  // beyond are reserved and unspecified types
      if (type == kEndOfSequence || type == kEndOfBitstream) ended_ = true;
      has_units = has_units || type <= kLastDefined;
      if (type > 31 || is_read) continue;
      constexpr int kRaslN = 8, kRaslR = 9, kBlaFirst = 16, kIrapFirst = 16, kIrapLast = 23;
      info.random_access = type >= kIrapFirst && type <= kIrapLast;
      info.skipped_leading = type == kRaslN || type == kRaslR;
      info.droppable = type < 16 && type % 2 == 0;  // sub-layer non-reference
      info.temporal_id = (nal.data[1] & 7) - 1;
      // RASL pictures after a BLA, or after an end of sequence, are never shown.
      const bool bla = type >= kBlaFirst && type <= kBlaFirst + 2;
      if (bla || (ended_ && info.random_access)) info.shown = -1;
      // An IDR picture may ask for the pictures that wait before it to be dropped (8.3.2):
      // no_output_of_prior_pics_flag is the second bit of its header.
      constexpr int kIdrFirst = 19;
      idr = type == kIdrFirst || type == kIdrFirst + 1;
      if (idr && began_ && nal.size > 2 && (nal.data[2] & 0x40) != 0) info.shown = -1;
      ended_ = ended_ && !info.random_access;
      is_read = began_ = true;  // an end of the sequence may follow the picture
    }
    if (is_read) {
      if (idr) picture_order_.StartSequence();
      info.order = picture_order_.Of(packet);
    } else {
      info.shown = -1;
      info.unreadable = walker.damaged() || !has_units;
    }
    return info;
  }

 private:
  bool began_ = false;
  int length_bytes_;
  bool ended_ = false;
  PictureOrder picture_order_;
};

// Reads VP8's frame tag (RFC 6386, 9.1).
class Vp8Inspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    info.random_access = (packet.data[0] & 1) == 0;
    info.shown = (packet.data[0] >> 4) & 1;
    constexpr uint8_t kStartCode[] = {0x9d, 0x01, 0x2a};
    info.unreadable =
        info.random_access && (packet.size < 6 || std::memcmp(packet.data + 3, kStartCode, 3) != 0);
    return info;
  }
};

// Reads VP9's uncompressed headers (VP9 bitstream specification, 6.2).
class Vp9Inspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    info.shown = 0;
    const auto size = static_cast<size_t>(packet.size);
    size_t begin = 0, end = 0;
    for (const size_t frame : Vp9FrameSizes(packet.data + size, size)) {
      begin = std::exchange(end, end + frame);
      if (begin >= size) break;
      if (frame == 0) continue;
      BitReader bits(packet.data + begin, size - begin);
      constexpr uint32_t kFrameMarker = 2;
      if (bits.Read(2) != kFrameMarker) {
        info.unreadable = true;
        break;
      }
      const uint32_t profile = bits.Read(1) | (bits.Read(1) << 1);
      if (profile == 3) bits.Skip(1);
      if (bits.Flag()) {  // show_existing_frame
        ++info.shown;
        continue;
      }
      const bool key = !bits.Flag();
      if (begin == 0) info.random_access = key;
      if (bits.Flag()) ++info.shown;
    }
    if (info.shown > 1) info.shown = -1;
    return info;
  }
};

// Reads MPEG-1 and MPEG-2: the picture_header after the start code 00 00 01 00 (ITU-T
// H.262, 6.2.3). The key flag of the packet comes from the container or FFmpeg's parser.
class Mpeg2Inspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    int pictures = 0;
    bool has_start_codes = false;
    uint32_t word = ~0u;
    for (int i = 0; i + 2 < packet.size; ++i) {
      word = (word << 8) | packet.data[i];
      if (word >> 8 != 1) continue;
      has_start_codes = true;
      constexpr uint32_t kPicture = 0x100, kGroup = 0x1B8;
      if (word == kGroup) ++groups_, last_reference_ = 0;
      if (word != kPicture) continue;
      const int type = (packet.data[i + 2] >> 3) & 7;
      // A second picture is the second field.
      if (pictures == 0) {
        info.random_access = type == 1 && FlaggedKey(packet);
        info.order = OrderOf((packet.data[i + 1] << 2) | (packet.data[i + 2] >> 6));
      }
      info.droppable = (pictures == 0 || info.droppable) && type == 3;
      ++pictures;
    }
    if (pictures == 0) {
      info.shown = -1;
      info.unreadable = !has_start_codes;
    }
    return info;
  }

 private:
  // temporal_reference counts the pictures of a group as they are shown, modulo 1024 (6.3.9).
  int64_t OrderOf(int temporal_reference) {
    constexpr int kModulus = 1024;
    const int turns = (last_reference_ - temporal_reference + kModulus / 2) / kModulus;
    last_reference_ = temporal_reference + std::max(turns, 0) * kModulus;
    return PacketInfo::OrderIn(groups_, last_reference_);
  }

  int64_t groups_ = 0;
  int last_reference_ = 0;
};

// Reads MPEG-4 Part 2: the vop_coding_type after 00 00 01 B6 (ISO/IEC 14496-2, 6.2.5). For packets
// with several VOPs (packed B-frames), or with a VOP too small to be coded, only the decoder can
// count the frames. B-VOPs are not droppable, because FFmpeg takes the field distance of interlaced
// streams from the first B-VOP that it decodes.
class Mpeg4Inspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    int vops = 0;
    bool has_start_codes = false;
    uint32_t word = ~0u;
    for (int i = 0; i + 1 < packet.size; ++i) {
      word = (word << 8) | packet.data[i];
      has_start_codes = has_start_codes || word >> 8 == 1;
      if (word != 0x000001B6 || vops++ > 0) continue;
      const int type = packet.data[i + 1] >> 6;
      info.random_access = type == 0;
      info.order = OrderOf(type);
    }
    constexpr int kSmallestCodedVop = 8;
    const bool coded = packet.size >= kSmallestCodedVop;
    info.random_access = info.random_access && coded;
    if (vops != 1 || !coded) info.shown = -1;
    info.unreadable = coded && !has_start_codes;
    return info;
  }

 private:
  // B-VOPs are shown before the VOP that comes before them in the stream, all others in the
  // stream's order.
  int64_t OrderOf(int type) {
    constexpr int kB = 2;
    if (type == kB && anchors_ > 0) return PacketInfo::OrderIn(anchors_ - 1, ++b_vops_);
    b_vops_ = 0;
    return PacketInfo::OrderIn(++anchors_, 0);
  }

  int64_t anchors_ = 0;
  int b_vops_ = 0;
};

// For codecs with independent frames: each packet is one key frame.
class IntraInspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket&) override {
    PacketInfo info;
    info.random_access = info.droppable = true;
    return info;
  }
};

// For FFV1: a frame is a key frame or continues with the contexts of the frame before it. Every
// packet shows one frame.
class KeyFlagInspector : public PacketInspector {
 public:
  PacketInfo Inspect(const AVPacket& packet) override {
    PacketInfo info;
    info.random_access = FlaggedKey(packet);
    return info;
  }
};

// For codecs whose packets we can't read.
class UnknownInspector : public KeyFlagInspector {
 public:
  bool understands_codec() const override { return false; }
};

}  // namespace

std::unique_ptr<PacketInspector> PacketInspector::Create(const AVCodecParameters& codec) {
  switch (FactsOf(codec.codec_id).syntax) {
    case PacketSyntax::kUnknown:
      break;
    case PacketSyntax::kKeyFlag:
      return std::make_unique<KeyFlagInspector>();
    case PacketSyntax::kIntra:
      return std::make_unique<IntraInspector>();
    case PacketSyntax::kH264:
      return std::make_unique<H264Inspector>(codec);
    case PacketSyntax::kHevc:
      return std::make_unique<HevcInspector>(codec);
    case PacketSyntax::kVp8:
      return std::make_unique<Vp8Inspector>();
    case PacketSyntax::kVp9:
      return std::make_unique<Vp9Inspector>();
    case PacketSyntax::kAv1:
      return std::make_unique<Av1Inspector>(codec);
    case PacketSyntax::kMpeg2:
      return std::make_unique<Mpeg2Inspector>();
    case PacketSyntax::kMpeg4:
      return std::make_unique<Mpeg4Inspector>();
  }
  return std::make_unique<UnknownInspector>();
}

}  // namespace nvc
