// The caller's options for an encoder, and the check that codec and container support them.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODE_OPTIONS_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tf_nvcodec/core/encode/encode_codec.h"
#include "tf_nvcodec/core/encode/encode_container.h"
#include "tf_nvcodec/core/format/frame_format.h"

namespace nvc {

// kNvenc is NVIDIA's hardware encoder, which libavcodec drives.
enum class EncodeEngine { kCpu, kNvenc };

// Names and values of options.
using CodecOptions = std::vector<std::pair<std::string, std::string>>;

struct EncodeOptions {
  EncodeCodec codec = EncodeCodec::kH264;
  EncodeContainer container = EncodeContainer::kMp4;
  std::optional<double> quality;  // the API's "crf"; excludes bitrate
  int64_t bitrate = 0;            // bits per second; 0: quality counts
  int gop = 0;                    // most frames from one key frame to the next; 0: codec's default
  int max_b_frames = -1;          // -1: codec's default
  std::string preset;             // "": codec's default
  std::string pixel_format;       // the stream's format, FFmpeg's name; "": chosen for the input
  std::optional<ColorSpace> color_space;  // unset: BT.601 or BT.709 by size
  std::optional<ColorRange> color_range;  // unset: limited for YUV, full for gray, RGB and MJPEG
  int num_threads = 0;                    // 0: the codec chooses for this machine
  bool fragmented = false;                // MP4 and MOV: one fragment for each GOP
  bool faststart = true;                  // MP4 and MOV: index before the frames
  // The codec's own options, by FFmpeg's names.
  CodecOptions codec_options;
  EncodeEngine engine = EncodeEngine::kCpu;
  // With kNvenc: libavcodec's context for the GPU (AV_HWDEVICE_TYPE_CUDA), which outlives the call.
  // If null, libavcodec chooses a GPU and makes a CUDA context of its own.
  AVBufferRef* gpu = nullptr;

  // Returns InvalidArgument, which names the option, its value and the values that would be
  // accepted.
  absl::Status Validate() const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_OPTIONS_H_
