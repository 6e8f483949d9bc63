// What NVIDIA's NVENC makes by way of libavcodec: codecs, stream formats, presets.
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

// libavcodec's encoder. InvalidArgument for a codec that NVENC never makes; Unimplemented when this
// libavcodec was built without it.
absl::StatusOr<const AVCodec*> FindNvencEncoder(EncodeCodec codec);

// Formats of the stream that NVENC makes of frames of `input`, in the order that an error lists
// them. Ten bits only of p010 frames and, `ten_high_bits`, of yuv444p in words: NVENC reads no
// other layout of them.
std::vector<AVPixelFormat> NvencStreamFormats(EncodeCodec codec, PixelFormat input,
                                              bool ten_high_bits);
// The layout in which NVENC reads a stream of `format`.
AVPixelFormat NvencInputFormat(AVPixelFormat format);

// NVENC's p1 (fastest) to p7 for a preset of the codec's CPU encoder or of NVENC's own; "" for any
// other name.
std::string NvencPreset(EncodeCodec codec, absl::string_view preset);

// B-frames in a row when the caller names no number: libavcodec's NVENC would not tell its own.
int NvencBFrames(const EncodeOptions& options);

// As MakeCodecSettings. Each name and value is looked up in the encoder's own tables first:
// Unimplemented for what an older libavcodec lacks.
absl::StatusOr<CodecOptions> MakeNvencSettings(const AVCodec* encoder,
                                               const EncodeOptions& options);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_
