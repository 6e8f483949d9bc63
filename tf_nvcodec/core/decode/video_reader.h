// Decodes one segment of a plan and says for each wanted frame whether it can be trusted.
#ifndef TF_NVCODEC_CORE_DECODE_VIDEO_READER_H_
#define TF_NVCODEC_CORE_DECODE_VIDEO_READER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/decode/decoder_quota.h"
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

// Called from several threads at once, each with its own `worker` number below the count given to
// Start. A frame may come twice when its segment had to be decoded again.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Start(int workers) = 0;
  virtual absl::Status Write(int worker, int frame, const AVFrame& picture) = 0;
  // What the worker wrote has to be there: another may write the same frames once more. It may come
  // back.
  virtual void Leave(int worker) {}
};

// As DecoderCache::Open; called from several threads at once.
using OpenDecoder = std::function<absl::StatusOr<std::unique_ptr<Decoder>>(
    const AVCodecParameters& codec, AVRational time_base, const DecoderOptions& options)>;

// A decoder that is not made of CPU threads, and how many of them may work side by side; fewer do
// where there is no memory for so many.
struct OtherDecoder {
  OpenDecoder open;
  int max_workers = 1;
  DecoderShare* share = nullptr;  // tells how many of them at a time; null: all
  // Called for a segment in which it found errors. OK: a software decoder takes the segment again,
  // and its word holds; else the read fails with this status. Null: always OK.
  std::function<absl::Status(const DamagedFrames& damaged)> before_decoding_again;
};

struct ReadOptions {
  int num_threads = 0;     // 0: the cores that are free
  int64_t max_pixels = 0;  // of a coded picture; 0: no limit
  Cancelled cancelled;
  OtherDecoder other;  // without `open`: the software decoder, with the process's DecoderCache
};

// Decodes each of `frames` (display indices within the index; order and duplicates don't matter)
// once. `damaged` tells which frames can't be trusted; everything else that fails is the status.
absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_VIDEO_READER_H_
