#include "tf_nvcodec/core/h264_inspector.h"

#include <algorithm>
#include <vector>

#include "tf_nvcodec/core/bit_reader.h"

namespace nvc {
namespace {

enum NalType { kSlice = 1, kPartitionA = 2, kIdr = 5, kSei = 6, kSps = 7, kPps = 8 };

// The payload after the one-byte header with emulation prevention (7.4.1.1) taken out.
std::vector<uint8_t> Unescape(const NalUnit& nal, size_t limit) {
  std::vector<uint8_t> out;
  const size_t size = std::min(nal.size, limit);
  out.reserve(size);
  int zeros = 0;
  for (size_t i = 1; i < size; ++i) {
    if (zeros >= 2 && nal.data[i] == 3) {
      zeros = 0;
      continue;
    }
    zeros = nal.data[i] == 0 ? zeros + 1 : 0;
    out.push_back(nal.data[i]);
  }
  return out;
}

// True for an SEI that holds a recovery point exact from this picture on.
bool HasExactRecoveryPoint(const NalUnit& nal) {
  const std::vector<uint8_t> sei = Unescape(nal, 4096);
  size_t at = 0;
  while (at + 2 < sei.size()) {
    int type = 0, size = 0;
    while (at < sei.size() && sei[at] == 255) type += 255, ++at;
    if (at < sei.size()) type += sei[at++];
    while (at < sei.size() && sei[at] == 255) size += 255, ++at;
    if (at < sei.size()) size += sei[at++];
    if (size > static_cast<int>(sei.size() - at)) return false;
    if (type == 6 && size > 0) return (sei[at] & 0xC0) == 0xC0;  // ue(0), then the flag
    at += static_cast<size_t>(size);
  }
  return false;
}

// scaling_list(): 7.3.2.1.1.1.
void SkipScalingList(BitReader* bits, int size) {
  int last = 8, next = 8;
  for (int i = 0; i < size && !bits->overrun(); ++i) {
    if (next != 0) {
      const uint32_t code = bits->UnsignedGolomb();
      const int delta = (code & 1) ? static_cast<int>((code + 1) / 2) : -static_cast<int>(code / 2);
      next = (last + delta + 256) % 256;
    }
    last = next == 0 ? last : next;
  }
}

bool HasChromaFormat(int profile) {
  constexpr int kProfiles[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
  return std::find(std::begin(kProfiles), std::end(kProfiles), profile) != std::end(kProfiles);
}

}  // namespace

H264Inspector::H264Inspector(const AVCodecParameters& codec)
    : length_bytes_(
          NalLengthBytes(codec.extradata, static_cast<size_t>(codec.extradata_size), false)) {
  sps_of_pps_.fill(-1);
  if (codec.extradata == nullptr) return;
  const auto size = static_cast<size_t>(codec.extradata_size);
  if (length_bytes_ == 0) {
    NalWalker walker(codec.extradata, size, 0);
    for (NalUnit nal; walker.Next(&nal);) ReadSps(nal), ReadPps(nal);
  } else {
    ReadParameterSets(codec.extradata, size);
  }
}

// avcC (ISO/IEC 14496-15, 5.3.3.1): counted lists of SPS, then PPS, each with a 16-bit length.
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
  if ((nal.data[0] & 31) != kSps) return;
  const std::vector<uint8_t> payload = Unescape(nal, 1024);
  BitReader bits(payload.data(), payload.size());
  const int profile = static_cast<int>(bits.Read(8));
  bits.Skip(16);
  const uint32_t id = bits.UnsignedGolomb();
  if (id >= sps_.size()) return;
  Sps sps;
  if (HasChromaFormat(profile)) {
    const uint32_t chroma_format = bits.UnsignedGolomb();
    if (chroma_format == 3) sps.separate_planes = bits.Flag();
    bits.UnsignedGolomb();  // bit_depth_luma_minus8
    bits.UnsignedGolomb();  // bit_depth_chroma_minus8
    bits.Skip(1);           // qpprime_y_zero_transform_bypass_flag
    if (bits.Flag()) {
      for (int i = 0; i < (chroma_format == 3 ? 12 : 8); ++i) {
        if (bits.Flag()) SkipScalingList(&bits, i < 6 ? 16 : 64);
      }
    }
  }
  sps.frame_num_bits = static_cast<int>(bits.UnsignedGolomb()) + 4;
  const uint32_t poc_type = bits.UnsignedGolomb();
  if (poc_type == 0) {
    bits.UnsignedGolomb();  // log2_max_pic_order_cnt_lsb_minus4
  } else if (poc_type == 1) {
    bits.Skip(1);           // delta_pic_order_always_zero_flag
    bits.UnsignedGolomb();  // offset_for_non_ref_pic: a signed code has the same length
    bits.UnsignedGolomb();  // offset_for_top_to_bottom_field
    for (uint32_t left = std::min(bits.UnsignedGolomb(), 255u); left > 0; --left) {
      bits.UnsignedGolomb();
    }
  }
  bits.UnsignedGolomb();  // max_num_ref_frames
  bits.Skip(1);           // gaps_in_frame_num_value_allowed_flag
  bits.UnsignedGolomb();  // pic_width_in_mbs_minus1
  bits.UnsignedGolomb();  // pic_height_in_map_units_minus1
  sps.frames_only = bits.Flag();
  sps.known = !bits.overrun() && sps.frame_num_bits <= 16;
  sps_[id] = sps;
}

void H264Inspector::ReadPps(const NalUnit& nal) {
  if ((nal.data[0] & 31) != kPps) return;
  const std::vector<uint8_t> payload = Unescape(nal, 64);
  BitReader bits(payload.data(), payload.size());
  const uint32_t id = bits.UnsignedGolomb();
  const uint32_t sps = bits.UnsignedGolomb();
  if (id < sps_of_pps_.size() && sps < sps_.size()) {
    sps_of_pps_[id] = static_cast<int16_t>(sps);
  }
}

bool H264Inspector::IsField(const NalUnit& slice) const {
  const std::vector<uint8_t> payload = Unescape(slice, 64);
  BitReader bits(payload.data(), payload.size());
  bits.UnsignedGolomb();  // first_mb_in_slice
  bits.UnsignedGolomb();  // slice_type
  const uint32_t pps = bits.UnsignedGolomb();
  if (pps >= sps_of_pps_.size() || sps_of_pps_[pps] < 0) return true;
  const Sps& sps = sps_[static_cast<size_t>(sps_of_pps_[pps])];
  if (!sps.known) return true;
  if (sps.frames_only) return false;
  if (sps.separate_planes) bits.Skip(2);
  bits.Skip(sps.frame_num_bits);
  return bits.Flag();
}

PacketInfo H264Inspector::Inspect(const AVPacket& packet) {
  PacketInfo info;
  bool recovery_point = false;
  NalWalker walker(packet.data, static_cast<size_t>(packet.size), length_bytes_);
  for (NalUnit nal; walker.Next(&nal);) {
    const int type = nal.data[0] & 31;
    if (type == kSps) ReadSps(nal);
    if (type == kPps) ReadPps(nal);
    if (type == kSei) recovery_point = recovery_point || HasExactRecoveryPoint(nal);
    if (type != kSlice && type != kPartitionA && type != kIdr) continue;
    // Every slice of a picture has the same type of header: the first one tells.
    if (IsField(nal)) info.shown = -1;
    const bool flagged_key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
    info.random_access = type == kIdr || (recovery_point && flagged_key);
    info.droppable = (nal.data[0] & 0x60) == 0 && !info.random_access;  // nal_ref_idc
    return info;
  }
  info.shown = -1;
  return info;
}

}  // namespace nvc
