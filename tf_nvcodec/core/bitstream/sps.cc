#include "tf_nvcodec/core/bitstream/sps.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"

namespace nvc {
namespace {

// Reads vui_parameters() of H.264 (E.1.1) up to the chroma siting.
AVChromaLocation ReadChromaLocation(BitReader* bits) {
  constexpr uint32_t kExtendedSar = 255;
  if (bits->Flag() && bits->Read(8) == kExtendedSar) bits->Skip(32);  // aspect_ratio_idc
  if (bits->Flag()) bits->Skip(1);                                    // overscan_appropriate_flag
  if (bits->Flag()) {                                                 // video_signal_type
    bits->Skip(3 + 1);                 // video_format, video_full_range_flag
    if (bits->Flag()) bits->Skip(24);  // primaries, transfer, matrix
  }
  if (!bits->Flag()) return AVCHROMA_LOC_UNSPECIFIED;
  // FFmpeg's numbers of the types are one higher than the standard's.
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
constexpr size_t kMaxSpsBytes = 1024;

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

}  // namespace

std::optional<H264Sps> ReadH264Sps(const NalUnit& nal) {
  if ((nal.data[0] & 31) != kH264SpsType) return std::nullopt;
  const std::vector<uint8_t> payload = NalPayload(nal, 1, kMaxSpsBytes);
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
  const std::vector<uint8_t> payload = NalPayload(nal, 2, kMaxSpsBytes);
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
  return window;
}

}  // namespace nvc
