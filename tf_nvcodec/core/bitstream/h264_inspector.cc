#include "tf_nvcodec/core/bitstream/h264_inspector.h"

#include <algorithm>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"

namespace nvc {
namespace {

enum NalType {
  kSlice = 1,
  kPartitionA = 2,
  kIdr = 5,
  kSei = 6,
  kSps = 7,
  kPps = 8,
  kLastDefined = 21,
};

// Whether the SEI has a recovery point from which this and all later pictures are exact (D.2.8).
bool HasExactRecoveryPoint(const NalUnit& nal) {
  const std::vector<uint8_t> sei = NalPayload(nal, 1, 4096);
  size_t at = 0;
  while (at + 2 < sei.size()) {
    int type = 0, size = 0;
    while (at < sei.size() && sei[at] == 255) type += 255, ++at;
    if (at < sei.size()) type += sei[at++];
    while (at < sei.size() && sei[at] == 255) size += 255, ++at;
    if (at < sei.size()) size += sei[at++];
    if (size > static_cast<int>(sei.size() - at)) return false;
    if (type == 6 && size > 0)
      return (sei[at] & 0xC0) == 0xC0;  // recovery_frame_cnt is ue(0); then exact_match_flag
    at += static_cast<size_t>(size);
  }
  return false;
}

}  // namespace

H264Inspector::H264Inspector(const AVCodecParameters& codec)
    : length_bytes_(
          NalLengthBytes(codec.extradata, static_cast<size_t>(codec.extradata_size), false)),
      picture_order_(codec) {
  sps_of_pps_.fill(-1);
  if (codec.extradata == nullptr) return;
  const auto size = static_cast<size_t>(codec.extradata_size);
  if (length_bytes_ == 0) {
    NalWalker walker(codec.extradata, size, 0);
    for (NalUnit nal; walker.Next(&nal);) ReadSps(nal), ReadPps(nal);
  } else {
    ReadParameterSets(codec.extradata, size);
  }
  has_description_ = true;
}

// Reads an avcC record (ISO/IEC 14496-15, 5.3.3.1). It has a counted list of SPS and then one of
// PPS; each unit has a 16-bit length.
void H264Inspector::ReadParameterSets(const uint8_t* data, size_t size) {
  size_t at = 5;
  for (const int mask : {0x1F, 0xFF}) {
    if (at >= size) return;
    for (int left = data[at++] & mask; left > 0 && at + 2 <= size; --left) {
      const size_t length = (static_cast<size_t>(data[at]) << 8) | data[at + 1];
      at += 2;
      if (length == 0 || length > size - at) return;
      const NalUnit nal{data + at, length};
      ReadSps(nal);
      ReadPps(nal);
      at += length;
    }
  }
}

void H264Inspector::ReadSps(const NalUnit& nal) {
  const std::optional<H264Sps> sps = ReadH264Sps(nal);
  if (!sps.has_value() || sps->id >= sps_.size()) return;
  sps_[sps->id] = sps;
  Note(kSps, sps->id, nal);
}

void H264Inspector::ReadPps(const NalUnit& nal) {
  if ((nal.data[0] & 31) != kPps) return;
  const std::vector<uint8_t> payload = NalPayload(nal, 1, 64);
  BitReader bits(payload.data(), payload.size());
  const uint32_t id = bits.UnsignedGolomb();
  const uint32_t sps = bits.UnsignedGolomb();
  if (id < sps_of_pps_.size() && sps < sps_.size()) {
    sps_of_pps_[id] = static_cast<int16_t>(sps);
    Note(kPps, id, nal);
  }
}

void H264Inspector::Note(int type, uint32_t id, const NalUnit& nal) {
  // nal_ref_idc in the first byte and zeros at the end are no part of a set.
  std::string bytes(nal.data + 1, nal.data + nal.size);
  bytes.erase(bytes.find_last_not_of('\0') + 1);
  const SetKey key(type, id);
  own_.insert(key);
  if (!has_description_) {
    described_[key] = std::move(bytes);
    has_sps_ = has_sps_ || type == kSps;
    return;
  }
  const auto known = described_.find(key);
  if (known != described_.end() && known->second == bytes) {
    replaced_.erase(key);
  } else {
    replaced_.insert(key);
  }
}

bool H264Inspector::HasItsSets() const {
  return std::includes(own_.begin(), own_.end(), replaced_.begin(), replaced_.end());
}

H264Inspector::Picture H264Inspector::ReadSlice(const NalUnit& slice) const {
  const std::vector<uint8_t> payload = NalPayload(slice, 1, 64);
  BitReader bits(payload.data(), payload.size());
  Picture picture;
  bits.UnsignedGolomb();  // first_mb_in_slice
  bits.UnsignedGolomb();  // slice_type
  const uint32_t pps = bits.UnsignedGolomb();
  if (pps >= sps_of_pps_.size() || sps_of_pps_[pps] < 0) return picture;
  const std::optional<H264Sps>& sps = sps_[static_cast<size_t>(sps_of_pps_[pps])];
  if (!sps.has_value()) return picture;
  if (sps->separate_planes) bits.Skip(2);
  picture.frame_num = bits.Read(sps->frame_num_bits);
  picture.frame_num_mask = (1u << sps->frame_num_bits) - 1;
  picture.gaps_allowed = sps->gaps_allowed;
  picture.field = !sps->frames_only && bits.Flag();
  picture.bottom = picture.field && bits.Flag();
  picture.known = !bits.overrun();
  return picture;
}

// Whether `picture` is the second field of the frame that the picture before it starts. A second
// field has the other parity and the same frame_num (7.4.1.2.4).
bool H264Inspector::CompletesFrame(const Picture& picture, bool idr) {
  const bool completes = picture.field && first_field_.field && !idr &&
                         picture.bottom != first_field_.bottom &&
                         picture.frame_num == first_field_.frame_num;
  first_field_ = completes ? Picture() : picture;
  return completes;
}

// Whether a reference picture between the previous picture and this one is missing. By 7.4.3 the
// frame_num is one more than that of the last reference picture; it stays the same while pictures
// are no references.
bool H264Inspector::LacksReference(const Picture& picture, bool idr, bool reference) {
  if (!picture.known) {
    last_frame_num_.reset();
    return false;
  }
  const uint32_t ahead =
      idr ? 0 : (picture.frame_num - last_frame_num_.value_or(0)) & picture.frame_num_mask;
  const bool lacks = last_frame_num_.has_value() && ahead > 1 && !picture.gaps_allowed;
  // A picture that is no reference counts one more than the last reference picture, even if that
  // one is missing.
  last_frame_num_ = reference || ahead == 0 ? picture.frame_num
                                            : (picture.frame_num - 1) & picture.frame_num_mask;
  return lacks;
}

PacketInfo H264Inspector::Inspect(const AVPacket& packet) {
  PacketInfo info;
  has_description_ = has_description_ || has_sps_;
  own_.clear();
  bool recovery_point = false, has_units = false;
  NalWalker walker(packet.data, static_cast<size_t>(packet.size), length_bytes_);
  for (NalUnit nal; walker.Next(&nal);) {
    const int type = nal.data[0] & 31;
    has_units = has_units || (type >= kSlice && type <= kLastDefined);
    if (type == kSps) ReadSps(nal);
    if (type == kPps) ReadPps(nal);
    if (type == kSei) recovery_point = recovery_point || HasExactRecoveryPoint(nal);
    if (type != kSlice && type != kPartitionA && type != kIdr) continue;
    // What we need is the same in the headers of all slices of a picture.
    const Picture picture = ReadSlice(nal);
    if (!picture.known || picture.field) info.shown = -1;
    info.second_field = CompletesFrame(picture, type == kIdr);
    info.lacks_reference = LacksReference(picture, type == kIdr, (nal.data[0] & 0x60) != 0);
    const bool flagged_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    info.random_access = (type == kIdr || (recovery_point && flagged_key)) && HasItsSets();
    info.droppable = (nal.data[0] & 0x60) == 0 && !info.random_access;  // nal_ref_idc
    if (type == kIdr) picture_order_.StartSequence();
    info.order = picture_order_.Of(packet);
    return info;
  }
  info.shown = -1;
  info.unreadable = walker.damaged() || !has_units;
  return info;
}

}  // namespace nvc
