// Writes a frame index as bytes, some 25 for each frame, and reads it back.
#ifndef TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_
#define TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Raise this with every change of the bytes, or of what FrameIndex::Build makes of a file. Packed
// clips have the number too.
constexpr int kFrameIndexFormat = 6;

// Returns FailedPrecondition when the index keeps packets itself (MPEG-TS, packets with side data),
// because with their bytes it would be as large as the video.
absl::StatusOr<std::string> SerializeFrameIndex(const FrameIndex& index);

// Reads what SerializeFrameIndex wrote. Returns DataLoss when the bytes end early or late, but it
// believes the numbers in them: the caller checks that they are those that were written, or
// make sense.
absl::StatusOr<FrameIndex> ParseFrameIndex(absl::string_view bytes);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_
