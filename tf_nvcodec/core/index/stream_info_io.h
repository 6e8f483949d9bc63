// The part of a stored frame index that describes the stream.
#ifndef TF_NVCODEC_CORE_INDEX_STREAM_INFO_IO_H_
#define TF_NVCODEC_CORE_INDEX_STREAM_INFO_IO_H_

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/byte_coding.h"
#include "tf_nvcodec/core/demux/demuxer.h"

namespace nvc {

// All that FFmpeg 5.1's AVCodecParameters hold for video.
void WriteStream(const StreamInfo& stream, ByteWriter* out);

// On bad bytes, and on values that FFmpeg doesn't know, `in` fails.
absl::Status ReadStream(ByteReader* in, StreamInfo* stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_STREAM_INFO_IO_H_
