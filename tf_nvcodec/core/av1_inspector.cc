#include "tf_nvcodec/core/av1_inspector.h"

namespace nvc {
namespace {

enum ObuType { kSequenceHeader = 1, kFrameHeader = 3, kFrame = 6, kTileList = 8 };
enum FrameType { kKey = 0, kInter = 1, kIntraOnly = 2, kSwitch = 3 };
constexpr int kEachFrameSays = 2;
constexpr uint32_t kAllSlots = 0xFF;

struct Obu {
  int type = 0;
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// obu_header() and obu_size: 5.3. False at the end and at a size that does not fit.
bool NextObu(const uint8_t** at, const uint8_t* end, Obu* obu) {
  const uint8_t* p = *at;
  if (p >= end) return false;
  const uint8_t header = *p++;
  obu->type = (header >> 3) & 15;
  if ((header & 4) != 0) ++p;  // extension
  if (p > end) return false;
  auto size = static_cast<size_t>(end - p);
  if ((header & 2) != 0) {
    uint64_t coded = 0;
    for (int i = 0; i < 8; ++i) {  // leb128
      if (p >= end) return false;
      coded |= static_cast<uint64_t>(*p & 0x7F) << (7 * i);
      if ((*p++ & 0x80) == 0) break;
    }
    if (coded > static_cast<uint64_t>(end - p)) return false;
    size = static_cast<size_t>(coded);
  }
  obu->data = p;
  obu->size = size;
  *at = p + size;
  return true;
}

}  // namespace

Av1Inspector::Av1Inspector(const AVCodecParameters& codec) {
  constexpr int kAv1cHeader = 4;
  if (codec.extradata != nullptr && codec.extradata_size > kAv1cHeader) {
    KeepsSlots(codec.extradata + kAv1cHeader,
               static_cast<size_t>(codec.extradata_size - kAv1cHeader));
  }
}

PacketInfo Av1Inspector::Inspect(const AVPacket& packet) {
  PacketInfo info;
  info.random_access = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  info.droppable = KeepsSlots(packet.data, static_cast<size_t>(packet.size)) && !info.random_access;
  return info;
}

bool Av1Inspector::KeepsSlots(const uint8_t* data, size_t size) {
  const uint8_t* at = data;
  const uint8_t* const end = data + size;
  bool keeps = true;
  bool any_frame = false;
  for (Obu obu; NextObu(&at, end, &obu);) {
    if (obu.type == kSequenceHeader) {
      ReadSequence(BitReader(obu.data, obu.size));
      keeps = false;
    } else if (obu.type == kFrameHeader || obu.type == kFrame) {
      any_frame = true;
      keeps = ReadRefresh(BitReader(obu.data, obu.size)) == 0 && keeps;
    } else if (obu.type == kTileList) {
      keeps = false;
    }
  }
  return keeps && any_frame && at == end;
}

void Av1Inspector::ReadSequence(BitReader bits) {
  sequence_ = Sequence();
  bits.Skip(3);                              // seq_profile
  if (bits.Flag() || bits.Flag()) return;    // still_picture, reduced_still_picture_header
  if (bits.Flag()) {                         // timing_info_present_flag
    bits.Skip(64);                           // num_units_in_display_tick, time_scale
    if (bits.Flag()) bits.UnsignedGolomb();  // equal_picture_interval: uvlc() is coded like ue(v)
    if (bits.Flag()) return;                 // decoder_model_info_present_flag
  }
  const bool display_delay = bits.Flag();  // initial_display_delay_present_flag
  if (bits.Read(5) != 0) return;           // operating_points_cnt_minus_1
  if (bits.Read(12) != 0) return;          // operating_point_idc
  if (bits.Read(5) > 7) bits.Skip(1);      // seq_level_idx, seq_tier
  if (display_delay && bits.Flag()) bits.Skip(4);
  const int width_bits = static_cast<int>(bits.Read(4)) + 1;
  const int height_bits = static_cast<int>(bits.Read(4)) + 1;
  bits.Skip(width_bits + height_bits);
  if (bits.Flag()) {  // frame_id_numbers_present_flag
    const int delta_bits = static_cast<int>(bits.Read(4)) + 2;
    sequence_.frame_id_bits = static_cast<int>(bits.Read(3)) + 1 + delta_bits;
  }
  bits.Skip(3);  // use_128x128_superblock, enable_filter_intra, enable_intra_edge_filter
  bits.Skip(4);  // enable_interintra_compound, _masked_compound, _warped_motion, _dual_filter
  const bool order_hint = bits.Flag();
  if (order_hint) bits.Skip(2);  // enable_jnt_comp, enable_ref_frame_mvs
  sequence_.force_screen_content_tools =
      bits.Flag() ? kEachFrameSays : static_cast<int>(bits.Read(1));
  sequence_.force_integer_mv = kEachFrameSays;
  if (sequence_.force_screen_content_tools > 0 && !bits.Flag()) {
    sequence_.force_integer_mv = static_cast<int>(bits.Read(1));
  }
  if (order_hint) sequence_.order_hint_bits = static_cast<int>(bits.Read(3)) + 1;
  sequence_.understood = !bits.overrun();
}

uint32_t Av1Inspector::ReadRefresh(BitReader bits) {
  if (!sequence_.understood) return kAllSlots;
  if (bits.Flag()) {  // show_existing_frame: showing a key frame again refreshes every slot
    return slot_is_key_[bits.Read(3)] ? kAllSlots : 0;
  }
  const auto type = static_cast<FrameType>(bits.Read(2));
  const bool show = bits.Flag();
  if (!show) bits.Skip(1);  // showable_frame
  const bool resets = type == kSwitch || (type == kKey && show);
  const bool error_resilient = resets || bits.Flag();
  bits.Skip(1);  // disable_cdf_update
  const bool screen_content = sequence_.force_screen_content_tools == kEachFrameSays
                                  ? bits.Flag()
                                  : sequence_.force_screen_content_tools != 0;
  if (screen_content && sequence_.force_integer_mv == kEachFrameSays) bits.Skip(1);
  bits.Skip(sequence_.frame_id_bits);
  if (type != kSwitch) bits.Skip(1);  // frame_size_override_flag
  bits.Skip(sequence_.order_hint_bits);
  const bool intra = type == kKey || type == kIntraOnly;
  if (!intra && !error_resilient) bits.Skip(3);  // primary_ref_frame
  const uint32_t refresh = resets ? kAllSlots : bits.Read(8);
  if (bits.overrun()) return kAllSlots;
  for (size_t i = 0; i < slot_is_key_.size(); ++i) {
    if ((refresh >> i) & 1) slot_is_key_[i] = type == kKey;
  }
  return refresh;
}

}  // namespace nvc
