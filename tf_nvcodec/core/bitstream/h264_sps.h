#ifndef TF_NVCODEC_CORE_BITSTREAM_H264_SPS_H_
#define TF_NVCODEC_CORE_BITSTREAM_H264_SPS_H_

#include <cstdint>
#include <optional>

#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/picture_window.h"

namespace nvc {

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

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_H264_SPS_H_
