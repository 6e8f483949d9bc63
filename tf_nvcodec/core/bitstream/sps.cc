#include "tf_nvcodec/core/bitstream/sps.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"

namespace nvc {
namespace {

// Reads vui_parameters() of H.264 and H.265 (E.1.1, E.2.1) up to the chroma siting. Both standards
// have the same syntax up to there.
AVChromaLocation ReadChromaLocation(BitReader* bits) {
  constexpr uint32_t kExtendedSar = 255;
  if (bits->Flag() && bits->Read(8) == kExtendedSar) bits->Skip(32);  // aspect_ratio_idc
  if (bits->Flag()) bits->Skip(1);                                    // overscan_appropriate_flag
  if (bits->Flag()) {                                                 // video_signal_type
    bits->Skip(3 + 1);                 // video_format, video_full_range_flag
    if (bits->Flag()) bits->Skip(24);  // primaries, transfer, matrix
  }
  if (!bits->Flag()) return AVCHROMA_LOC_UNSPECIFIED;
  // FFmpeg's numbers of the types are one higher than the standards'.
  const uint32_t type = bits->UnsignedGolomb() + 1;
  const bool known = !bits->overrun() && type > AVCHROMA_LOC_UNSPECIFIED && type < AVCHROMA_LOC_NB;
  return known ? static_cast<AVChromaLocation>(type) : AVCHROMA_LOC_UNSPECIFIED;
}

// Reads the cropping offsets, which count units of `unit_x` by `unit_y` luma samples. Returns false
// when they leave no sample.
bool ReadCrop(BitReader* bits, int unit_x, int unit_y, PictureWindow* window) {
  uint32_t crop[4];  // left, right, top, bottom
  for (uint32_t& side : crop) side = bits->UnsignedGolomb();
  const auto fits = [](uint32_t a, uint32_t b, int unit, int size) {
    return (uint64_t{a} + b) * static_cast<uint64_t>(unit) < static_cast<uint64_t>(size);
  };
  if (!fits(crop[0], crop[1], unit_x, window->coded_width) ||
      !fits(crop[2], crop[3], unit_y, window->coded_height)) {
    return false;
  }
  window->left = static_cast<int>(crop[0]) * unit_x;
  window->top = static_cast<int>(crop[2]) * unit_y;
  window->width = window->coded_width - static_cast<int>(crop[0] + crop[1]) * unit_x;
  window->height = window->coded_height - static_cast<int>(crop[2] + crop[3]) * unit_y;
  return true;
}

constexpr int kH264SpsType = 7;
constexpr uint32_t kMaxMacroblocks = 4096;  // on a side; no level allows more
constexpr size_t kMaxH264SpsBytes = 1024;

// Skips scaling_list() of H.264 (7.3.2.1.1.1).
void SkipScalingList(BitReader* bits, int size) {
  uint32_t last = 8, next = 8;
  for (int i = 0; i < size && !bits->overrun(); ++i) {
    if (next != 0) {
      const uint32_t code = bits->UnsignedGolomb();
      // Unsigned: a damaged code can have 32 bits. Only the remainder by 256 counts.
      const uint32_t delta = (code & 1) ? code / 2 + 1 : 0u - code / 2;
      next = (last + delta) % 256;
    }
    last = next == 0 ? last : next;
  }
}

// Whether the SPS of this profile of H.264 has chroma_format_idc.
bool HasChromaFormat(int profile) {
  constexpr int kProfiles[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
  return std::find(std::begin(kProfiles), std::end(kProfiles), profile) != std::end(kProfiles);
}

constexpr int kHevcSpsType = 33;
constexpr uint32_t kMaxSide = 65535;
constexpr uint32_t kMaxReferenceSets = 64, kMaxReferences = 16, kMaxLongTerm = 32;
constexpr size_t kMaxHevcSpsBytes = 8192;

// Skips profile_tier_level() of HEVC (7.3.3).
void SkipProfile(BitReader* bits, uint32_t sub_layers) {
  constexpr int kProfileBits = 88, kLevelBits = 8;
  bits->Skip(kProfileBits + kLevelBits);
  std::array<bool, 8> has_profile{}, has_level{};
  for (uint32_t i = 0; i < sub_layers; ++i)
    has_profile[i] = bits->Flag(), has_level[i] = bits->Flag();
  if (sub_layers > 0) bits->Skip(2 * static_cast<int>(8 - sub_layers));
  for (uint32_t i = 0; i < sub_layers; ++i) {
    bits->Skip((has_profile[i] ? kProfileBits : 0) + (has_level[i] ? kLevelBits : 0));
  }
}

// Skips scaling_list_data() of HEVC (7.3.4). A signed code is as long as an unsigned one.
void SkipScalingLists(BitReader* bits) {
  for (int size = 0; size < 4; ++size) {
    for (int matrix = 0; matrix < 6; matrix += size == 3 ? 3 : 1) {
      if (!bits->Flag()) {
        bits->UnsignedGolomb();  // scaling_list_pred_matrix_id_delta
        continue;
      }
      const int codes = std::min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0);
      for (int i = 0; i < codes && !bits->overrun(); ++i) bits->UnsignedGolomb();
    }
  }
}

// Skips st_ref_pic_set() of HEVC (7.3.7). `deltas` is NumDeltaPocs: of the set before this one as
// input, and of this set as output. Returns false when the set is impossible.
bool SkipReferenceSet(BitReader* bits, bool first, uint32_t* deltas) {
  if (!first && bits->Flag()) {  // inter_ref_pic_set_prediction_flag
    bits->Skip(1);               // delta_rps_sign
    bits->UnsignedGolomb();      // abs_delta_rps_minus1
    uint32_t count = 0;
    for (uint32_t i = 0; i <= *deltas; ++i) {
      const bool used = bits->Flag();         // used_by_curr_pic_flag
      count += used || bits->Flag() ? 1 : 0;  // use_delta_flag
    }
    *deltas = count;
    return count <= kMaxReferences && !bits->overrun();
  }
  const uint32_t negative = bits->UnsignedGolomb(), positive = bits->UnsignedGolomb();
  if (negative > kMaxReferences || positive > kMaxReferences - negative) return false;
  *deltas = negative + positive;
  for (uint32_t i = 0; i < *deltas; ++i) {
    bits->UnsignedGolomb();  // delta_poc_minus1
    bits->Skip(1);           // used_by_curr_pic_flag
  }
  return !bits->overrun();
}

// Skips what comes between the cropping and the VUI of HEVC, and reads the chroma siting in the
// VUI.
AVChromaLocation ReadRest(BitReader* bits, uint32_t sub_layers) {
  bits->UnsignedGolomb();  // bit_depth_luma_minus8
  bits->UnsignedGolomb();  // bit_depth_chroma_minus8
  const uint32_t poc_bits = bits->UnsignedGolomb() + 4;
  const bool each_layer = bits->Flag();  // sps_sub_layer_ordering_info_present_flag
  // sps_max_dec_pic_buffering_minus1, sps_max_num_reorder_pics, sps_max_latency_increase_plus1
  for (uint32_t i = each_layer ? 0 : sub_layers; i <= sub_layers; ++i) {
    for (int j = 0; j < 3; ++j) bits->UnsignedGolomb();
  }
  for (int i = 0; i < 6; ++i) bits->UnsignedGolomb();  // sizes and depths of blocks
  if (bits->Flag() && bits->Flag()) SkipScalingLists(bits);
  bits->Skip(2);       // amp_enabled_flag, sample_adaptive_offset_enabled_flag
  if (bits->Flag()) {  // pcm_enabled_flag
    bits->Skip(4 + 4);
    bits->UnsignedGolomb();
    bits->UnsignedGolomb();
    bits->Skip(1);
  }
  const uint32_t sets = bits->UnsignedGolomb();
  if (sets > kMaxReferenceSets) return AVCHROMA_LOC_UNSPECIFIED;
  uint32_t deltas = 0;
  for (uint32_t i = 0; i < sets; ++i) {
    if (!SkipReferenceSet(bits, i == 0, &deltas)) return AVCHROMA_LOC_UNSPECIFIED;
  }
  if (bits->Flag()) {  // long_term_ref_pics_present_flag
    const uint32_t count = bits->UnsignedGolomb();
    if (count > kMaxLongTerm || poc_bits > 16) return AVCHROMA_LOC_UNSPECIFIED;
    bits->Skip(static_cast<int>(count * (poc_bits + 1)));
  }
  bits->Skip(2);  // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  return bits->Flag() ? ReadChromaLocation(bits) : AVCHROMA_LOC_UNSPECIFIED;
}

}  // namespace

std::optional<H264Sps> ReadH264Sps(const NalUnit& nal) {
  if ((nal.data[0] & 31) != kH264SpsType) return std::nullopt;
  const std::vector<uint8_t> payload = NalPayload(nal, 1, kMaxH264SpsBytes);
  BitReader bits(payload.data(), payload.size());
  const int profile = static_cast<int>(bits.Read(8));
  bits.Skip(16);
  H264Sps sps;
  sps.id = bits.UnsignedGolomb();
  uint32_t chroma_format = 1;
  if (HasChromaFormat(profile)) {
    chroma_format = bits.UnsignedGolomb();
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
  // Whatever is above 16 is impossible.
  sps.frame_num_bits = static_cast<int>(std::min(bits.UnsignedGolomb(), 255u)) + 4;
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
  sps.gaps_allowed = bits.Flag();
  const uint32_t columns = bits.UnsignedGolomb(), rows = bits.UnsignedGolomb();  // minus 1
  sps.frames_only = bits.Flag();
  const bool possible = !bits.overrun() && sps.frame_num_bits >= 4 && sps.frame_num_bits <= 16 &&
                        columns < kMaxMacroblocks && rows < kMaxMacroblocks && chroma_format <= 3;
  if (!possible) return std::nullopt;
  if (!sps.frames_only) bits.Skip(1);  // mb_adaptive_frame_field_flag
  bits.Skip(1);                        // direct_8x8_inference_flag

  PictureWindow& window = sps.window;
  const int fields = sps.frames_only ? 1 : 2;
  window.coded_width = window.width = 16 * static_cast<int>(columns + 1);
  window.coded_height = window.height = 16 * fields * static_cast<int>(rows + 1);
  if (bits.Flag()) {  // frame_cropping_flag; 7-19 to 7-22
    const int unit_x = chroma_format == 1 || chroma_format == 2 ? 2 : 1;
    const int unit_y = (chroma_format == 1 ? 2 : 1) * fields;
    if (!ReadCrop(&bits, unit_x, unit_y, &window)) return std::nullopt;
  }
  if (bits.Flag()) window.chroma_location = ReadChromaLocation(&bits);
  return sps;
}

std::optional<PictureWindow> ReadHevcSps(const NalUnit& nal) {
  if (nal.size < 2 || ((nal.data[0] >> 1) & 63) != kHevcSpsType) return std::nullopt;
  const std::vector<uint8_t> payload = NalPayload(nal, 2, kMaxHevcSpsBytes);
  BitReader bits(payload.data(), payload.size());
  bits.Skip(4);  // sps_video_parameter_set_id
  const uint32_t sub_layers = bits.Read(3);
  bits.Skip(1);  // sps_temporal_id_nesting_flag
  if (sub_layers > 6) return std::nullopt;
  SkipProfile(&bits, sub_layers);
  bits.UnsignedGolomb();  // sps_seq_parameter_set_id
  const uint32_t chroma_format = bits.UnsignedGolomb();
  if (chroma_format == 3) bits.Skip(1);  // separate_colour_plane_flag
  const uint32_t width = bits.UnsignedGolomb(), height = bits.UnsignedGolomb();
  if (bits.overrun() || chroma_format > 3 || width == 0 || height == 0 || width > kMaxSide ||
      height > kMaxSide) {
    return std::nullopt;
  }
  PictureWindow window;
  window.coded_width = window.width = static_cast<int>(width);
  window.coded_height = window.height = static_cast<int>(height);
  if (bits.Flag()) {  // conformance_window_flag; table 6-1
    const int unit_x = chroma_format == 1 || chroma_format == 2 ? 2 : 1;
    if (!ReadCrop(&bits, unit_x, chroma_format == 1 ? 2 : 1, &window)) return std::nullopt;
  }
  window.chroma_location = ReadRest(&bits, sub_layers);
  return window;
}

}  // namespace nvc
