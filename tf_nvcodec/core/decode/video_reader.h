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
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/decode/decoder_quota.h"
#include "tf_nvcodec/core/decode/segment_decoder.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Receives the frames of a read. Several threads call Write at once, each with its own `worker`
// number below the count given to Start. A frame may come twice if its segment is decoded again.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Start(int workers) = 0;
  // Called before Write. It may wait until there is room for the frame, and so stop the worker. A
  // worker with earlier frames than all others is the only one that can make room, so it must never
  // wait for another.
  virtual absl::Status WaitForRoom(int frame) { return absl::OkStatus(); }
  // Whether WaitForRoom would return at once.
  virtual bool HasRoom(int frame) { return true; }
  // Called when the read has failed. From now on, WaitForRoom must not wait.
  virtual void Abandon() {}
  virtual absl::Status Write(int worker, int frame, const AVFrame& picture) = 0;
  // The last word on a frame. `damage` is OK if the frame can be trusted. Otherwise it may never
  // have been written.
  virtual absl::Status Settle(int frame, const absl::Status& damage) { return absl::OkStatus(); }
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
  // Called when this decoder found errors in a segment, with what is known of them. If it returns
  // OK, a software decoder decodes the segment again and decides which frames are damaged;
  // otherwise the read fails with this status. Null: always OK.
  std::function<absl::Status(const DamagedFrames& damaged)> before_decoding_again;
};

struct ReadOptions {
  int num_threads = 0;               // 0: as many as cores are free
  bool threads_are_granted = false;  // num_threads are of a ThreadGrant that the caller holds
  int64_t max_pixels = 0;            // limit of a coded picture; 0: none
  int64_t lookahead = 0;             // how many frames the sink has room for at a time; 0: all
  int64_t kept_pictures = 0;         // besides, kept by software decoders that work side by side
  // Look at the packets where decoding starts, and return Aborted if one is no random access point.
  // For an index of the sample table alone (FrameIndex::only_sample_table).
  bool check_starts = false;
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
