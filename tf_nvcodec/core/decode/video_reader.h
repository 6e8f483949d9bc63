// Reads frames of a video by display index: plans the segments, decodes them in parallel where that
// helps, and reports which frames are damaged.
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

// Receives a decoded frame and its display index. An error ends the decode.
using EmitFrame = std::function<absl::Status(int frame, const AVFrame& picture)>;

// The causes of damage, by the display index of the damaged frame. A frame is damaged when its own
// packet is, or a packet that its decoding depends on. Damaged frames may have been emitted all the
// same.
using DamagedFrames = std::map<int, absl::Status>;

// Decodes the wanted frames of one segment. It blames an error on the packet that was sent last.
// That is right for a decoder of one thread. With frame threads errors come later, so the caller
// must decode a damaged segment again with one thread.
absl::Status DecodeSegment(const FrameIndex& index, const ByteSource& source,
                           const Segment& segment, Decoder* decoder, const Cancelled& cancelled,
                           const EmitFrame& emit, DamagedFrames* damaged);

// Receives the frames of a read. Several threads call Write at once, each with its own `worker`
// number below the count given to Start. A frame may come twice if its segment is decoded again.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Start(int workers) = 0;
  virtual absl::Status Write(int worker, int frame, const AVFrame& picture) = 0;
  // Called when a worker stops writing. When Leave returns, the worker's frames must be in the
  // batch, because another worker may write the same frames again. The worker may come back later.
  virtual void Leave(int worker) {}
};

// Opens a decoder, as DecoderCache::Open does. Several threads call it at once.
using OpenDecoder = std::function<absl::StatusOr<std::unique_ptr<Decoder>>(
    const AVCodecParameters& codec, AVRational time_base, const DecoderOptions& options)>;

// How to use decoders that are not software, such as a GPU's. At most `max_workers` of them work
// side by side, fewer when memory runs out.
struct DecoderFactory {
  OpenDecoder open;
  int max_workers = 1;
  DecoderQuota* quota = nullptr;  // limits how many a read has at a time; null: no limit
  // Called when this decoder found errors in a segment. If it returns OK, a software decoder
  // decodes the segment again and decides which frames are damaged; otherwise the read fails with
  // this status. Null: always OK.
  std::function<absl::Status(const DamagedFrames& damaged)> before_decoding_again;
};

struct ReadOptions {
  int num_threads = 0;     // 0: as many as cores are free
  int64_t max_pixels = 0;  // limit of a coded picture; 0: none
  Cancelled cancelled;
  DecoderFactory factory;  // without `open`: software decoders from DecoderCache::Shared()
};

// Decodes each of `frames` once. `frames` holds display indices of the index in any order, also
// repeated ones. `damaged` receives the frames that can't be trusted. All other failures are
// returned as the status.
absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_VIDEO_READER_H_
