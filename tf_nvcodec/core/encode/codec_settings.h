// The caller's options as FFmpeg's encoders take them.
#ifndef TF_NVCODEC_CORE_ENCODE_CODEC_SETTINGS_H_
#define TF_NVCODEC_CORE_ENCODE_CODEC_SETTINGS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/encode/stream_spec.h"

namespace nvc {

// Whether each frame must be marked as a key frame: SVT-AV1 makes intra-only frames, which nothing
// can start from, of a period of 1.
bool ForcesKeyFrames(const EncodeOptions& options);
// AVCodecContext's gop_size for a key frame every `gop` frames at least.
int GopSize(const EncodeOptions& options, int gop);

// InvalidArgument for a name in the caller's codec options that the encoder lacks, or that is an
// argument's.
absl::Status CheckCodecOption(const AVCodec* encoder, absl::string_view codec,
                              const std::string& name);

// Settings for avcodec_open2's dictionary: quality, preset, thread count and the caller's own codec
// options. InvalidArgument for an option that the encoder lacks, or that would contradict an
// argument or describe other frames than these.
absl::StatusOr<CodecOptions> MakeCodecSettings(const StreamSpec& stream,
                                               const EncodeOptions& options);

// The setting that holds the encoder library's own parameters: `given` and those that the project
// always sets around them. Empty for encoders that have none.
CodecOptions WithOwnParams(const StreamSpec& stream, const EncodeOptions& options,
                           const CodecOptions& given);

// Fields of the context: threads, rate control, key frames and what the dictionary has no name for.
void ApplyContextSettings(const StreamSpec& stream, const FrameTiming& timing,
                          const EncodeOptions& options, AVCodecContext* context);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_CODEC_SETTINGS_H_
