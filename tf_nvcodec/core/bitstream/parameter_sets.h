// A stream's parameter sets: in its packets, and in its description, which containers may renew in
// its middle (MP4 by more than one sample description).
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

// The parameter sets (H.264 and HEVC) or sequence header (AV1) in a packet of a `codec` stream, ""
// when it has none.
absl::StatusOr<std::string> ParameterSetsIn(const AVPacket& packet, AVCodecID codec);

// Makes `sets` those of `stream`.
absl::Status SetParameterSets(absl::string_view sets, AVCodecParameters* stream);

absl::StatusOr<AvCodecParametersPtr> CopyOf(const AVCodecParameters& stream);

// `stream` as the container describes it from `packet` on; null where that says nothing new.
absl::StatusOr<AvCodecParametersPtr> DescribedAnew(const AVCodecParameters& stream,
                                                   const AVPacket& packet);

// Of a packet whose parameter sets are in its bytes.
void DropDescription(AVPacket* packet);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_PARAMETER_SETS_H_
