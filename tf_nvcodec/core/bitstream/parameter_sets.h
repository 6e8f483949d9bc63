// Reads and replaces the parameter sets of a stream. They are in its packets or in its description
// in the container. A container may change the description inside the stream: MP4 has several
// sample descriptions for that.
#ifndef TF_NVCODEC_CORE_BITSTREAM_PARAMETER_SETS_H_
#define TF_NVCODEC_CORE_BITSTREAM_PARAMETER_SETS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace nvc {

// Returns the parameter sets (H.264 and HEVC) or the sequence header (AV1) in a packet of a `codec`
// stream, or "" when it has none.
absl::StatusOr<std::string> ParameterSetsIn(const AVPacket& packet, AVCodecID codec);

// Makes `sets` the extradata of `stream`.
absl::Status SetParameterSets(absl::string_view sets, AVCodecParameters* stream);

// Returns `stream` with the new description that the container attaches to `packet`, or null when
// `packet` has no new one.
absl::StatusOr<AvCodecParametersPtr> DescribedAnew(const AVCodecParameters& stream,
                                                   const AVPacket& packet);

// Removes what the container says beside a packet. Call this when the packet's bytes, or another
// place, have it.
void DropSideData(AVPacketSideDataType type, AVPacket* packet);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PARAMETER_SETS_H_
