#ifndef TF_NVCODEC_CORE_BITSTREAM_HEVC_SPS_H_
#define TF_NVCODEC_CORE_BITSTREAM_HEVC_SPS_H_

#include <optional>

#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/picture_window.h"

namespace nvc {

// The window of an ITU-T H.265 sequence parameter set (7.3.2.2.1). Nothing for another kind of NAL
// unit and for one that can't be.
std::optional<PictureWindow> ReadHevcSps(const NalUnit& nal);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_HEVC_SPS_H_
