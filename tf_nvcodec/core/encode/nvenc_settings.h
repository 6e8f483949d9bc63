// The caller's options as libavcodec's NVENC encoders take them.
#ifndef TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_
#define TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/encode_options.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// B-frames in a row when the caller names no number: libavcodec's NVENC would not tell its own.
int NvencBFrames(const EncodeOptions& options);

// As MakeCodecSettings. Each name and value is looked up in the encoder's own tables first:
// Unimplemented for what an older libavcodec lacks.
absl::StatusOr<CodecOptions> MakeNvencSettings(const AVCodec* encoder,
                                               const EncodeOptions& options);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_NVENC_SETTINGS_H_
