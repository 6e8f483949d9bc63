// What the caller asks of an encoder, checked against what codec and container can do.
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

// kNvenc: NVIDIA's hardware, by way of libavcodec.
enum class EncodeEngine { kCpu, kNvenc };

// Names and values.
using CodecOptions = std::vector<std::pair<std::string, std::string>>;

struct EncodeOptions {
  EncodeCodec codec = EncodeCodec::kH264;
  EncodeContainer container = EncodeContainer::kMp4;
  std::optional<double> quality;  // "crf" of the API; excludes bitrate
  int64_t bitrate = 0;            // bits per second; 0: by quality
  int gop = 0;                    // frames from key frame to key frame at most; 0: codec's default
  int max_b_frames = -1;          // -1: codec's default
  std::string preset;             // "": codec's default
  std::string pixel_format;       // of the stream, FFmpeg's name; "": chosen by the input
  std::optional<ColorSpace> color_space;  // unset: BT.601 or BT.709 by size
  std::optional<ColorRange> color_range;  // unset: limited for YUV, full for gray, RGB and MJPEG
  int num_threads = 0;                    // 0: the codec's choice for this machine
  bool fragmented = false;                // MP4 and MOV: a fragment for each group of pictures
  bool faststart = true;                  // MP4 and MOV: index before the frames
  // The codec's own options, as FFmpeg names them.
  CodecOptions codec_options;
  EncodeEngine engine = EncodeEngine::kCpu;
  // With kNvenc: the GPU as libavcodec knows it (AV_HWDEVICE_TYPE_CUDA), which outlives the call;
  // null: libavcodec's choice, with a CUDA context of its own.
  AVBufferRef* gpu = nullptr;

  // InvalidArgument names the option, its value and what would be accepted.
  absl::Status Validate() const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_OPTIONS_H_
