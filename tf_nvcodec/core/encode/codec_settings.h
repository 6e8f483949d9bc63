// Translates the caller's options to settings of FFmpeg's encoders.
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

// Returns whether the caller must mark each frame as a key frame. With a period of 1, SVT-AV1 makes
// intra-only frames, from which no decoder can start.
bool ForcesKeyFrames(const EncodeOptions& options);
// Returns the gop_size of AVCodecContext that gives a key frame at least every `gop` frames.
int GopSize(const EncodeOptions& options, int gop);

// Returns whether a codec option is only a tag, which describes the stream and changes no picture:
// the transfer function, the primaries or the shape of a pixel.
bool IsTag(absl::string_view option);

// Checks the name of one of the caller's codec options. Returns InvalidArgument if the encoder has
// no such option, or if an argument of the API sets it.
absl::Status CheckCodecOption(const AVCodec* encoder, absl::string_view codec,
                              const std::string& name);

// Returns the settings for avcodec_open2's dictionary: quality, preset, thread count and the
// caller's own codec options. Returns InvalidArgument for an option that the encoder does not have,
// that contradicts an argument, or that describes other frames.
absl::StatusOr<CodecOptions> MakeCodecSettings(const StreamSpec& stream,
                                               const EncodeOptions& options);

// Returns the one setting that passes parameters to the encoder library (x264, x265, SVT-AV1): the
// caller's parameters `given` and those that the op always sets. Returns nothing for an encoder
// without such a setting.
CodecOptions LibraryParams(const StreamSpec& stream, const EncodeOptions& options,
                           const CodecOptions& given);

// Sets the fields of the context: threads, rate control, key frames, and all that the dictionary
// has no name for.
void ApplyContextSettings(const StreamSpec& stream, const FrameTiming& timing,
                          const EncodeOptions& options, AVCodecContext* context);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_CODEC_SETTINGS_H_
