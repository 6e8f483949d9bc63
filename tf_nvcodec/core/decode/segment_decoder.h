// Decodes one segment of a plan and says for each wanted frame whether it can be trusted.
#ifndef TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_
#define TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_

#include <functional>
#include <map>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Takes a decoded frame by its display index. An error ends the decode.
using EmitFrame = std::function<absl::Status(int frame, const AVFrame& picture)>;

// Why frames are not what was encoded, by display index. A frame counts as damaged when its own
// packet, or one its decoding depends on, is: such a frame may still have been emitted.
using DamagedFrames = std::map<int, absl::Status>;

// Errors are blamed on the packet being sent, which is right for a decoder of one thread; with
// frame threads they come late, so a damaged segment must be decoded again with one.
absl::Status DecodeSegment(const FrameIndex& index, const ByteSource& source,
                           const Segment& segment, Decoder* decoder, const Cancelled& cancelled,
                           const EmitFrame& emit, DamagedFrames* damaged);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_SEGMENT_DECODER_H_
