// Writes a frame index as bytes, about ten per packet, and reads it back.
#ifndef TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_
#define TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/base/byte_coding.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Raise this with every change of the bytes, or of what FrameIndex::Build makes of a file.
constexpr int kFrameIndexFormat = 5;

// Returns FailedPrecondition when the index keeps packets itself (MPEG-TS, packets with side data),
// because with their bytes it would be as large as the video.
absl::StatusOr<std::string> SerializeFrameIndex(const FrameIndex& index);

// Safe on any bytes: returns DataLoss unless they are an index whose parts fit together. The caller
// checks that the packets lie inside the file, and applies FrameIndex::Limits.
absl::StatusOr<FrameIndex> ParseFrameIndex(absl::string_view bytes);

// Returns the index's size in memory, including packets that it keeps.
size_t MemoryBytes(const FrameIndex& index);

// Writes all fields that AVCodecParameters of FFmpeg 5.1 have for video.
void WriteStream(const StreamInfo& stream, ByteWriter* out);

// Makes `in` fail on bad bytes and on values that FFmpeg does not know.
absl::Status ReadStream(ByteReader* in, StreamInfo* stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_
