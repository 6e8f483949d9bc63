// What streams' headers say of pictures as they are shown.
#ifndef TF_NVCODEC_CORE_BITSTREAM_SPS_H_
#define TF_NVCODEC_CORE_BITSTREAM_SPS_H_

#include <cstdint>
#include <optional>

#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"

extern "C" {
#include <libavutil/pixfmt.h>
}

namespace nvc {

// In luma samples; the part of the coded picture that is shown.
struct PictureWindow {
  int coded_width = 0, coded_height = 0;
  int left = 0, top = 0, width = 0, height = 0;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
};

// vui_parameters() of both (E.1.1, E.2.1) up to the chroma samples' location, where they part.
inline AVChromaLocation ReadChromaLocation(BitReader* bits) {
  constexpr uint32_t kExtendedSar = 255;
  if (bits->Flag() && bits->Read(8) == kExtendedSar) bits->Skip(32);  // aspect_ratio_idc
  if (bits->Flag()) bits->Skip(1);                                    // overscan_appropriate_flag
  if (bits->Flag()) {                                                 // video_signal_type
    bits->Skip(3 + 1);                 // video_format, video_full_range_flag
    if (bits->Flag()) bits->Skip(24);  // primaries, transfer, matrix
  }
  if (!bits->Flag()) return AVCHROMA_LOC_UNSPECIFIED;
  // FFmpeg counts the types from 1 on.
  const uint32_t type = bits->UnsignedGolomb() + 1;
  const bool known = !bits->overrun() && type > AVCHROMA_LOC_UNSPECIFIED && type < AVCHROMA_LOC_NB;
  return known ? static_cast<AVChromaLocation>(type) : AVCHROMA_LOC_UNSPECIFIED;
}

// The offsets that crop, in units of `unit_x` by `unit_y` luma samples; false when nothing is left.
inline bool ReadCrop(BitReader* bits, int unit_x, int unit_y, PictureWindow* window) {
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

// ITU-T H.264, 7.3.2.1.1.
struct H264Sps {
  uint32_t id = 0;
  bool frames_only = true, separate_planes = false;
  int frame_num_bits = 4;
  bool gaps_allowed = false;  // in frame_num: pictures were left out on purpose
  PictureWindow window;
};

// Nothing for another kind of NAL unit and for one that can't be.
std::optional<H264Sps> ReadH264Sps(const NalUnit& nal);

// The window of an ITU-T H.265 sequence parameter set (7.3.2.2.1). Nothing for another kind of NAL
// unit and for one that can't be.
std::optional<PictureWindow> ReadHevcSps(const NalUnit& nal);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_SPS_H_
