// Settings for NVIDIA's NVENC through libavcodec: codecs, stream formats and presets.
#ifndef TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_
#define TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/encode/encode_codec.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/format/frame_format.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// Returns libavcodec's NVENC encoder for `codec`. Returns InvalidArgument for a codec that NVENC
// never encodes, and Unimplemented if this libavcodec was built without it.
absl::StatusOr<const AVCodec*> FindNvencEncoder(EncodeCodec codec);

// Returns the stream formats that NVENC makes of `input` frames, in the order in which an error
// lists them. Ten-bit formats need p010 frames or, with `ten_high_bits`, yuv444p in 16-bit words:
// NVENC reads no other layout of ten bits.
std::vector<AVPixelFormat> NvencStreamFormats(EncodeCodec codec, PixelFormat input,
                                              bool ten_high_bits);
// Returns the layout in which NVENC reads a stream of `format`.
AVPixelFormat NvencInputFormat(AVPixelFormat format);

// Translates a preset of the codec's CPU encoder, or of NVENC, to NVENC's p1 (fastest) to p7.
// Returns "" for any other name.
std::string NvencPreset(EncodeCodec codec, absl::string_view preset);

// Returns the number of B-frames in a row. This chooses a default itself, because libavcodec does
// not tell which number NVENC would choose.
int NvencBFrames(const EncodeOptions& options);

// Returns the settings as MakeCodecSettings does. Looks up each name and value in the encoder's own
// tables first, and returns Unimplemented for what an older libavcodec does not have.
absl::StatusOr<CodecOptions> MakeNvencSettings(const AVCodec* encoder,
                                               const EncodeOptions& options);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_
