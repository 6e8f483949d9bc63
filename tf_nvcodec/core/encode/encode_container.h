// Lists the containers that we write, with what each can hold.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/encode/encode_codec.h"

namespace nvc {

// kRaw is the elementary stream of the codec: Annex B for H.264 and HEVC, OBU for AV1, IVF for VP9,
// and one JPEG after the other for MJPEG.
enum class EncodeContainer { kMp4, kMov, kMkv, kWebm, kAvi, kTs, kRaw, kIvf, kObu };

struct ContainerTraits {
  EncodeContainer container;
  const char* name;
  const char* muxer;  // FFmpeg's name; null for kRaw, where the codec decides
  // How many ticks of the timestamps are a second; 0: as many as the frames need.
  int ticks_per_second;
  // It stores a pts for each frame, so that frames may be spaced unevenly and start later than 0.
  bool keeps_times;
  // It stores the matrix or the range for codecs whose bitstreams can't.
  bool keeps_matrix, keeps_range;
  // It can be fragmented, and can have its index in front.
  bool is_mp4_like;
};

// Returns InvalidArgument, which lists the names, for an unknown name.
absl::StatusOr<EncodeContainer> ParseEncodeContainer(absl::string_view name);
const ContainerTraits& TraitsOf(EncodeContainer container);

// Returns InvalidArgument, which lists the containers that can hold the codec, when this one can't.
absl::Status CheckContainer(EncodeContainer container, EncodeCodec codec);
// Returns the name of FFmpeg's muxer. The container must be able to hold the codec.
const char* MuxerName(EncodeContainer container, EncodeCodec codec);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODE_CONTAINER_H_
