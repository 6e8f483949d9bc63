// Reports what a video is: its size, frame count, codec and colours. The frames are counted and the
// first one is decoded, because headers can be wrong.
#ifndef TF_NVCODEC_CORE_DECODE_VIDEO_INFO_H_
#define TF_NVCODEC_CORE_DECODE_VIDEO_INFO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

struct VideoInfo {
  int width = 0, height = 0;  // of a stored frame
  int64_t num_frames = 0;     // frames that a full decode shows
  double fps = 0;             // average
  double duration = 0;        // seconds, from the first frame's pts to the last frame's end
  std::string codec;          // FFmpeg's names: "h264", "yuv420p", "bt709", ...
  std::string pixel_format;
  int bit_depth = 0;
  std::string color_space;  // "unknown" when the stream does not say
  std::string color_range;  // "limited", "full" or "unknown"
  bool has_audio = false;
  double sample_aspect_ratio = 1;  // width of a pixel over its height; 1 when unknown
  std::string color_primaries;     // "bt2020", ... or "unknown"
  std::string color_transfer;      // "smpte2084", ... or "unknown"
  Orientation orientation;         // of a stored frame, for display
  std::string odd_matrix;          // as in StreamInfo
};

// Indexes `source` and decodes its first good frame. Returns DataLoss when no frame can be decoded.
absl::StatusOr<VideoInfo> ProbeVideo(const ByteSource& source, const FrameIndex::Limits& limits,
                                     const Cancelled& cancelled);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_VIDEO_INFO_H_
