// Reads facts from a stream's headers that NVDEC's parser needs or does not report: the displayed
// part of the picture, and features that we don't use NVDEC for.
#ifndef TF_NVCODEC_NV_DECODE_NVDEC_HEADERS_H_
#define TF_NVCODEC_NV_DECODE_NVDEC_HEADERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "tf_nvcodec/core/bitstream/sps.h"

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace nvc {

// Finds the displayed part of the coded picture in a packet's headers. Returns nothing if they
// don't tell it. `coded_width` and `coded_height` are what the parser reports.
// - H.264 and HEVC, in Annex B form: it reads the SPS before the first slice. Of several it takes
//   the last one with the coded size, or else the last one. The parser does not report what is
//   cropped at the left and top, nor H.264's chroma siting.
// - VP8: it reads the header of a key frame. The parser rounds sizes up to even ones.
std::optional<PictureWindow> FindWindow(AVCodecID codec, const uint8_t* data, size_t size,
                                        int coded_width, int coded_height);

// Whether an SPS of H.264 before the first slice allows pictures to be coded as fields.
bool MayTurnToFields(const uint8_t* data, size_t size);

// Returns Unimplemented for VP9's profiles of 4:2:2, 4:4:0 and 4:4:4. The parser reports no
// pictures for them.
absl::Status CheckVp9Profile(const uint8_t* data, size_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_HEADERS_H_
