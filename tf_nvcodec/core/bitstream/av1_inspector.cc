#include "tf_nvcodec/core/bitstream/av1_inspector.h"

#include <algorithm>

#include "tf_nvcodec/core/bitstream/obu.h"

namespace nvc {
namespace {

enum FrameType { kKey = 0, kInter = 1, kIntraOnly = 2, kSwitch = 3 };
constexpr int kEachFrameSays = 2;
constexpr uint32_t kAllSlots = 0xFF;
constexpr int kReferencesPerFrame = 7;

BitReader PayloadOf(const uint8_t* at, const Obu& obu) {
  return BitReader(at + obu.header, obu.size - obu.header);
}

}  // namespace

Av1Inspector::Av1Inspector(const AVCodecParameters& codec) {
  if (codec.extradata == nullptr || codec.extradata_size <= kAv1RecordBytes) return;
  const uint8_t* at = codec.extradata + kAv1RecordBytes;
  const uint8_t* const end = codec.extradata + codec.extradata_size;
  for (Obu obu; ReadObu(at, static_cast<size_t>(end - at), &obu); at += obu.size) {
    if (obu.type == kObuSequenceHeader) ReadSequence(PayloadOf(at, obu));
  }
}

PacketInfo Av1Inspector::Inspect(const AVPacket& packet) {
  PacketInfo info;
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  has_sequence_ = false;
  const auto slots = slots_;
  const int first = num_pictures_;
  bool keeps = true;
  const bool is_read =
      ReadPictures(packet.data, static_cast<size_t>(packet.size), key, &info.pictures, &keeps);
  // FFmpeg does not pass the container's sequence header to dav1d.
  info.random_access = key && has_sequence_;
  if (is_read) {
    info.droppable = keeps && !info.pictures.empty() && !key;
    return info;
  }
  slots_ = slots;
  num_pictures_ = first;
  CodedPicture whole;
  whole.end = packet.size;
  whole.shown = true;
  ReferToAllSlots(&whole);
  // A decoder stores no picture before it has seen a sequence header.
  Store(kAllSlots, sequence_.seen, 0);
  last_order_hint_ = -1;
  info.pictures = {whole};
  return info;
}

bool Av1Inspector::ReadPictures(const uint8_t* data, size_t size, bool random_access,
                                std::vector<CodedPicture>* pictures, bool* keeps) {
  size_t at = 0;
  for (Obu obu; ReadObu(data + at, size - at, &obu); at += obu.size) {
    const int end = static_cast<int>(at + obu.size);
    if (obu.type == kObuSequenceHeader) {
      ReadSequence(PayloadOf(data + at, obu));
      has_sequence_ = true;
    } else if (obu.type == kObuFrameHeader || obu.type == kObuFrame) {
      CodedPicture picture;
      picture.begin = static_cast<int>(at);
      picture.end = end;
      uint32_t refresh = 0;
      if (!ReadFrame(PayloadOf(data + at, obu), &picture, &refresh)) return false;
      *keeps = *keeps && refresh == 0;
      pictures->push_back(picture);
    } else if (obu.type == kObuTileGroup || obu.type == kObuRedundantFrameHeader) {
      if (pictures->empty()) return false;
      pictures->back().end = end;
    } else if (obu.type == kObuTileList) {
      return false;
    }
  }
  *keeps = *keeps && !has_sequence_;
  // A sequence header here does not belong to a random access point. Later packets may need it even
  // if they need none of the pictures in this packet.
  if (has_sequence_ && !random_access && !pictures->empty()) return false;
  const auto shown = std::count_if(pictures->begin(), pictures->end(),
                                   [](const CodedPicture& picture) { return picture.shown; });
  const bool shows_one = shown == 1 && pictures->back().shown;
  return at == size && (shows_one || (pictures->empty() && has_sequence_));
}

void Av1Inspector::ReferToAllSlots(CodedPicture* picture) const {
  for (size_t i = 0; i < slots_.size(); ++i) picture->references[i] = slots_[i].picture;
}

void Av1Inspector::Store(uint32_t refresh, bool key, int order_hint) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if ((refresh >> i) & 1) slots_[i] = {num_pictures_, key, order_hint};
  }
  ++num_pictures_;
}

bool Av1Inspector::ComesNext(int order_hint) {
  const int last = last_order_hint_;
  last_order_hint_ = order_hint;
  if (last < 0 || sequence_.order_hint_bits == 0) return true;
  // get_relative_dist(), 7.20
  const int sign = 1 << (sequence_.order_hint_bits - 1);
  const int ahead = (order_hint - last) & (2 * sign - 1);
  return ahead > 0 && ahead < sign;
}

void Av1Inspector::ReadSequence(BitReader bits) {
  sequence_ = Sequence();
  sequence_.seen = true;
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
    sequence_.delta_frame_id_bits = static_cast<int>(bits.Read(4)) + 2;
    sequence_.frame_id_bits = static_cast<int>(bits.Read(3)) + 1 + sequence_.delta_frame_id_bits;
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

bool Av1Inspector::ReadFrame(BitReader bits, CodedPicture* picture, uint32_t* refresh) {
  if (!sequence_.understood) return false;
  if (bits.Flag()) {  // show_existing_frame
    picture->shown = true;
    const Slot slot = slots_[bits.Read(3)];
    picture->references[0] = slot.picture;
    // Showing a key frame again refreshes every slot. `slot.key` may be a guess, after a packet
    // that was not understood; the picture then needs the other slots as well.
    const bool key = slot.key;
    if (key) ReferToAllSlots(picture);
    *refresh = key ? kAllSlots : 0;
    if (bits.overrun()) return false;
    // After a packet that was not understood, the order hints of the slots are not known either.
    if (key) {
      last_order_hint_ = -1;
    } else if (!ComesNext(slot.order_hint)) {
      return false;
    }
    Store(*refresh, key, slot.order_hint);
    return true;
  }
  const auto type = static_cast<FrameType>(bits.Read(2));
  picture->shown = bits.Flag();
  if (!picture->shown) bits.Skip(1);  // showable_frame
  const bool resets = type == kSwitch || (type == kKey && picture->shown);
  const bool error_resilient = resets || bits.Flag();
  bits.Skip(1);  // disable_cdf_update
  const bool screen_content = sequence_.force_screen_content_tools == kEachFrameSays
                                  ? bits.Flag()
                                  : sequence_.force_screen_content_tools != 0;
  if (screen_content && sequence_.force_integer_mv == kEachFrameSays) bits.Skip(1);
  bits.Skip(sequence_.frame_id_bits);
  if (type != kSwitch) bits.Skip(1);  // frame_size_override_flag
  const int order_hint = static_cast<int>(bits.Read(sequence_.order_hint_bits));
  const bool intra = type == kKey || type == kIntraOnly;
  if (!intra && !error_resilient)
    bits.Skip(3);  // primary_ref_frame: one of the references read below
  *refresh = resets ? kAllSlots : bits.Read(8);
  const bool order_hints = sequence_.order_hint_bits > 0;
  bool all_slots = false;
  if (error_resilient && order_hints && (!intra || *refresh != kAllSlots)) {
    all_slots = true;  // ref_order_hint: the decoder refills a slot whose order hint differs
    bits.Skip(8 * sequence_.order_hint_bits);
  }
  if (!intra) {
    if (order_hints && bits.Flag()) {
      all_slots = true;  // frame_refs_short_signaling: references follow from all order hints
    } else {
      for (int i = 0; i < kReferencesPerFrame; ++i) {
        picture->references[static_cast<size_t>(i)] = slots_[bits.Read(3)].picture;
        bits.Skip(sequence_.delta_frame_id_bits);
      }
    }
  }
  if (all_slots) ReferToAllSlots(picture);
  if (bits.overrun()) return false;
  if (type == kKey && picture->shown) last_order_hint_ = -1;
  if (picture->shown && !ComesNext(order_hint)) return false;
  Store(*refresh, type == kKey, order_hint);
  return true;
}

}  // namespace nvc
