#include "tf_nvcodec/core/bitstream/h264_sps.h"

#include <algorithm>
#include <vector>

#include "tf_nvcodec/core/bitstream/bit_reader.h"

namespace nvc {
namespace {

constexpr int kSpsType = 7;
constexpr uint32_t kMaxMacroblocks = 4096;  // on a side, beyond every level
constexpr size_t kMaxBytes = 1024;

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

std::optional<H264Sps> ReadH264Sps(const NalUnit& nal) {
  if ((nal.data[0] & 31) != kSpsType) return std::nullopt;
  const std::vector<uint8_t> payload = NalPayload(nal, 1, kMaxBytes);
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
  sps.gaps_allowed = bits.Flag();
  const uint32_t columns = bits.UnsignedGolomb(), rows = bits.UnsignedGolomb();  // less 1
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

}  // namespace nvc
