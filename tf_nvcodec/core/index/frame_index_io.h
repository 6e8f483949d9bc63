// A frame index as bytes, about ten for each packet, and back.
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

// To be raised with every change of the bytes or of what FrameIndex::Build makes of a file.
constexpr int kFrameIndexFormat = 3;

// FailedPrecondition when the index keeps packets itself (MPEG-TS, packets with side data): with
// their bytes it would be as large as the video.
absl::StatusOr<std::string> SerializeFrameIndex(const FrameIndex& index);

// Safe on any bytes: DataLoss unless they are an index whose parts fit together. Whether its
// packets lie inside the file is for the caller to check, and so are FrameIndex::Limits.
absl::StatusOr<FrameIndex> ParseFrameIndex(absl::string_view bytes);

// What it holds in memory, kept packets included.
size_t MemoryBytes(const FrameIndex& index);

// All that FFmpeg 5.1's AVCodecParameters hold for video.
void WriteStream(const StreamInfo& stream, ByteWriter* out);

// On bad bytes, and on values that FFmpeg doesn't know, `in` fails.
absl::Status ReadStream(ByteReader* in, StreamInfo* stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_FRAME_INDEX_IO_H_
