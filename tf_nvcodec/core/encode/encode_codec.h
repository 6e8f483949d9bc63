// Lists the codecs that we encode to, with their limits, and finds FFmpeg's encoders for them.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODE_CODEC_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODE_CODEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/format/codec_table.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

enum class EncodeCodec { kH264, kHevc, kAv1, kVp9, kMjpeg, kFfv1 };

struct CodecTraits {
  EncodeCodec codec;
  AVCodecID id;
  const char* name;          // in the Python API
  const Encoding* encoding;  // the row in codec_table.h
  // The scale of crf, where smaller values mean better quality. `default_quality` < 0 means the
  // encoder's own default.
  bool has_quality = true;
  int min_quality = 0, max_quality = 51, default_quality = -1;
  bool whole_quality = false;
  bool has_bitrate = true;
  int64_t max_bitrate = int64_t{1} << 40;
  int max_b_frames = 0;
  int default_gop = -1;  // frames; < 0: the encoder's own default
  bool intra_only = false;
  // A side that chroma subsampling halves must be even, because the bitstream or the encoder counts
  // it in chroma samples.
  bool even_sides = false;
  int min_side = 1, max_width = 16384, max_height = 16384;
  // Below `min_fps` only crf works: rate control fails.
  double min_fps = 0, max_fps = 10000;
  std::vector<std::string> presets = {};  // empty: the encoder has none
  const char* preset_option = "preset";
};

// Returns InvalidArgument, which lists the names, for an unknown name.
absl::StatusOr<EncodeCodec> ParseEncodeCodec(absl::string_view name);
const CodecTraits& TraitsOf(EncodeCodec codec);

// Returns Unimplemented when this machine's FFmpeg lacks the encoder.
absl::StatusOr<const AVCodec*> FindEncoder(const char* encoder);

// Returns the software encoder of a codec or, where FFmpeg lacks it, its stand-in.
absl::StatusOr<const AVCodec*> FindSoftwareEncoder(EncodeCodec codec);

// The sides that an encoder takes, in pixels.
struct SideLimits {
  int least, most_width, most_height;
};
SideLimits SideLimitsOf(const CodecTraits& traits, const AVCodec* encoder);

// Whether this is OpenH264, which stands in for x264.
bool IsOpenH264(const AVCodec* encoder);

// Checks that libavcodec's encoder has these options, by name and value. They may be options of its
// own or of all encoders. It opens no encoder. Returns InvalidArgument, which names the first bad
// option, and Unimplemented as FindEncoder does.
absl::Status CheckEncoderOptions(const char* encoder,
                                 const std::vector<std::pair<std::string, std::string>>& options);

// Returns the pixel formats that frames can be encoded in: those that the encoder takes and that
// our converters write. The decoded stream has the same format, except that MJPEG decodes to the
// yuvj formats.
absl::StatusOr<std::vector<AVPixelFormat>> StreamFormats(EncodeCodec codec);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_CODEC_H_
