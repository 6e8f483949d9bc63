// Reads sequence parameter sets (SPS) of H.264 and HEVC: the picture size and the cropping.
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

// The part of the coded picture that is shown, in luma samples.
struct PictureWindow {
  int coded_width = 0, coded_height = 0;
  int left = 0, top = 0, width = 0, height = 0;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
};

// What we use of an SPS of ITU-T H.264 (7.3.2.1.1).
struct H264Sps {
  uint32_t id = 0;
  bool frames_only = true, separate_planes = false;
  int frame_num_bits = 4;
  bool gaps_allowed = false;  // frame_num may have gaps: an encoder left pictures out on purpose
  PictureWindow window;
};

// Returns nothing for another type of NAL unit and for an SPS with impossible values.
std::optional<H264Sps> ReadH264Sps(const NalUnit& nal);

// Reads the sizes in an SPS of ITU-T H.265 (7.3.2.2.1). The chroma siting lies deep in the SPS:
// DeclaredChromaLocation has it from FFmpeg. Returns nothing for another type of NAL unit and for
// an SPS with impossible values.
std::optional<PictureWindow> ReadHevcSps(const NalUnit& nal);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_SPS_H_
