// What NVDEC's parser keeps to itself of the headers that it reads.
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

// H.264 and HEVC in Annex B form: of the last parameter set before the first slice, of several the
// last of that coded size, if any has it; the parser leaves out what is cropped at the left and
// top, and the siting of chroma. VP8: of a key frame;
// the parser rounds sizes to even ones. MPEG-1 and MPEG-2: of the last sequence header before the
// picture, with whole macroblocks as its coded size; the parser may take the size to display from
// an extension that FFmpeg ignores. MPEG-4: of the last rectangular object layer.
std::optional<PictureWindow> FindWindow(AVCodecID codec, const uint8_t* data, size_t size,
                                        int coded_width, int coded_height);

// Whether an H.264 parameter set before the first slice lets pictures be coded as fields.
bool MayTurnToFields(const uint8_t* data, size_t size);

// Unimplemented for VP9's profiles of 4:2:2, 4:4:0 and 4:4:4, for which the parser shows nothing.
absl::Status CheckVp9Profile(const uint8_t* data, size_t size);

// Unimplemented for MPEG-4's objects that may have B pictures, of which NVDEC makes others than
// FFmpeg's and Xvid's decoders do (seen on an H200: some macroblocks are up to 110 off), fields,
// quarter samples or global motion: all but the Simple ones.
absl::Status CheckMpeg4Object(const uint8_t* data, size_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_NVDEC_HEADERS_H_
