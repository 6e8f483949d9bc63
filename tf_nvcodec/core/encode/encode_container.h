// What each container that we write can hold.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/encode/encode_codec.h"

namespace nvc {

// kRaw is the codec's elementary stream: Annex B for H.264 and HEVC, OBU for AV1, IVF for VP9,
// JPEG after JPEG for MJPEG.
enum class EncodeContainer { kMp4, kMov, kMkv, kWebm, kAvi, kTs, kRaw, kIvf, kObu };

struct ContainerTraits {
  EncodeContainer container;
  const char* name;
  const char* muxer;  // FFmpeg's; null for kRaw, where the codec decides
  // Ticks a second of the time stamps; 0: whatever the frames need.
  int ticks_per_second;
  // Frames may be spaced unevenly and start later than 0.
  bool keeps_times;
  // Colour tags are kept beside a bitstream that has no room for them: the matrix, the range.
  bool keeps_matrix, keeps_range;
  // Can be fragmented, and have its index in front.
  bool is_mp4_like;
};

// InvalidArgument that lists the names.
absl::StatusOr<EncodeContainer> ParseEncodeContainer(absl::string_view name);
const ContainerTraits& TraitsOf(EncodeContainer container);

// InvalidArgument that lists the containers which take the codec.
absl::Status CheckContainer(EncodeContainer container, EncodeCodec codec);
// FFmpeg's muxer for a codec that the container takes.
const char* MuxerName(EncodeContainer container, EncodeCodec codec);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_
