// What each codec that we encode to can take, and which FFmpeg encoder makes it.
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
  const char* name;          // of the Python API
  const Encoding* encoding;  // of the codec table
  // The scale behind crf: smaller is better. `default_quality` < 0 leaves it to the encoder.
  bool has_quality = true;
  int min_quality = 0, max_quality = 51, default_quality = -1;
  bool whole_quality = false;
  bool has_bitrate = true;
  int64_t max_bitrate = int64_t{1} << 40;
  int max_b_frames = 0;
  int default_gop = -1;  // < 0: the encoder's own
  bool intra_only = false;
  // Sides that chroma subsampling halves must be even: the bitstream or the encoder counts them in
  // chroma samples.
  bool even_sides = false;
  int min_side = 1, max_width = 16384, max_height = 16384;
  // Below `min_fps` rate control is lost; quality works.
  double min_fps = 0, max_fps = 10000;
  std::vector<std::string> presets = {};  // empty: there are none
  const char* preset_option = "preset";
};

// InvalidArgument that lists the names.
absl::StatusOr<EncodeCodec> ParseEncodeCodec(absl::string_view name);
const CodecTraits& TraitsOf(EncodeCodec codec);

// Unimplemented when this machine's FFmpeg lacks the encoder.
absl::StatusOr<const AVCodec*> FindEncoder(const char* encoder);

// Whether libavcodec's encoder, of which no instance is opened, has options of these names and
// takes these values: its own and those of every encoder. InvalidArgument names the first that it
// doesn't; Unimplemented as FindEncoder.
absl::Status CheckEncoderOptions(const char* encoder,
                                 const std::vector<std::pair<std::string, std::string>>& options);

// The pixel formats of a stream of this codec that frames can be turned into: what the encoder
// takes, less what nothing here writes. The decoded stream has the same format, but that MJPEG
// reads back as yuvj.
absl::StatusOr<std::vector<AVPixelFormat>> StreamFormats(EncodeCodec codec);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_CODEC_H_
