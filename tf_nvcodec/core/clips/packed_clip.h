// A clip that is still compressed: the packets that its frames need and what decoding has to know
// about them, in one string. It is made where the video lies and decoded elsewhere.
#ifndef TF_NVCODEC_CORE_CLIPS_PACKED_CLIP_H_
#define TF_NVCODEC_CORE_CLIPS_PACKED_CLIP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/clips/clip_spec.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Reads the clip's packets from `source` and packs them. Returns Aborted if the video's index is
// wrong (see CheckSyncSamples), and Unimplemented if the stream gets another description inside the
// clip.
absl::StatusOr<std::string> PackClip(const FrameIndex& index, const ByteSource& source,
                                     const Clip& clip);

// Returns the number of frames of a packed clip, with its padding. It looks at the beginning only,
// and returns InvalidArgument if that is no packed clip of this version.
absl::StatusOr<int64_t> PackedLength(absl::string_view packed);

struct UnpackedClip {
  FrameIndex index;        // of the clip's packets alone
  Clip clip;               // its frames in this index
  absl::string_view data;  // where the index finds the packets; a part of the packed string
};

// Reads what PackClip wrote, and checks it: the bytes may come from anywhere. Returns
// InvalidArgument if they are no packed clip of this version, DataLoss if they are damaged or
// contradict themselves, and ResourceExhausted above `limits`.
absl::StatusOr<UnpackedClip> UnpackClip(absl::string_view packed, const FrameIndex::Limits& limits);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_PACKED_CLIP_H_
