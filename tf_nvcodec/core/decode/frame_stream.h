// A stream of a video's frames: decoded side by side where that helps, pulled one after the other.
#ifndef TF_NVCODEC_CORE_DECODE_FRAME_STREAM_H_
#define TF_NVCODEC_CORE_DECODE_FRAME_STREAM_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/base/thread_budget.h"
#include "tf_nvcodec/core/decode/decode_plan.h"
#include "tf_nvcodec/core/decode/decoder_quota.h"
#include "tf_nvcodec/core/decode/segment_decoder.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Puts the pictures of a stream into their places. Several threads call Write at once, each with
// its own `worker` number below the count given to Start. A frame may come twice if its segment is
// decoded again.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void Start(int workers) = 0;
  virtual absl::Status Write(int worker, int frame, const AVFrame& picture) = 0;
  // Called when a worker stops writing. When Leave returns, the worker's frames must be in their
  // places, because another worker may write the same frames again. The worker may come back later.
  virtual void Leave(int worker) {}
};

// Opens a decoder, as DecoderCache::Open does. Several threads call it at once.
using DecoderOpener = std::function<absl::StatusOr<std::unique_ptr<Decoder>>(
    const AVCodecParameters& codec, AVRational time_base, const DecoderOptions& options)>;

// How to use decoders that are not software, such as a GPU's. At most `max_workers` of them work
// side by side, fewer when memory runs out.
struct DecoderFactory {
  DecoderOpener open;
  int max_workers = 1;
  DecoderQuota* quota = nullptr;  // limits how many a stream has at a time; null: no limit
  // Called when this decoder found errors in a segment, with what is known of them. If it returns
  // OK, a software decoder decodes the segment again and decides which frames are damaged;
  // otherwise the stream fails with this status. Null: always OK.
  std::function<absl::Status(const DamagedFrames& damaged)> before_decoding_again;
};

struct ReadOptions {
  int num_threads = 0;               // 0: as many as cores are free
  bool threads_are_granted = false;  // num_threads are of a ThreadGrant that the caller holds
  int64_t max_pixels = 0;            // limit of a coded picture; 0: none
  // Decode in threads, ahead of the reader. Otherwise the reader's first call of Next does a
  // worker's work.
  bool in_threads = false;
  // About how many frames there is room for at a time; 0: for all. With a limit, the reader says by
  // Allow where it is, and the stream is in_threads.
  int64_t lookahead = 0;
  int64_t kept_pictures = 0;  // besides, kept by software decoders that work side by side
  // Look at the packets where decoding starts, and return Aborted if one is no random access point.
  // For an index of the sample table alone (FrameIndex::only_sample_table).
  bool check_starts = false;
  Cancelled cancelled;
  // Receives the time that the workers took together without waiting for room, at their ends.
  std::atomic<int64_t>* busy_ns = nullptr;
  DecoderFactory factory;  // without `open`: software decoders from DecoderCache::Shared()
};

// The reader pulls frames in the order of display. Workers decode ahead of it, each a segment at a
// time, and write the frames into their places. A worker that finds no more segments gives its core
// back, and a stream that began while other decodes had the cores takes such a core at its next
// segment.
//
// The stream can't stand still. The reader waits for one frame, and that frame has room. A worker
// waits only with the frame that the reader wants first of all frames of its segment without a
// verdict; other pictures it keeps, or writes without room. So the worker that has the reader's
// frame never waits. It waits for a decoder (DecoderLease) only before it takes a segment, or as
// the only worker, whose first decoder comes at once.
class FrameStream {
 public:
  // A frame in its place. `damage` is OK if it can be trusted. Otherwise it says why not, and there
  // may be no picture in its place.
  struct Frame {
    int number = 0;  // display index
    absl::Status damage;
  };

  // `frames`: display indices in any order; repeated ones count once. `index`, `source` and `sink`
  // must outlive the stream. Returns ResourceExhausted if there is no thread to decode with.
  static absl::StatusOr<std::unique_ptr<FrameStream>> Open(const FrameIndex& index,
                                                           const ByteSource& source,
                                                           const std::vector<int64_t>& frames,
                                                           const ReadOptions& options,
                                                           FrameSink* sink);
  ~FrameStream();
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  // Waits for the next frame; nullopt behind the last one. An error is not about single frames, and
  // is the last answer. Without in_threads, the first call decodes all frames.
  absl::StatusOr<std::optional<Frame>> Next(const Cancelled& cancelled);
  // There is room for all frames up to display index `frame`.
  void Allow(int frame);
  // Ends a Next that waits, and all later ones, with Cancelled. Thread-safe.
  void Stop();
  // Whether workers decode, or wait for room. Thread-safe.
  bool IsDecoding() const { return working_ > 0; }

 private:
  // Segments that one decoder decodes without a new start in between.
  struct Stretch {
    size_t begin = 0, end = 0;
  };

  // What a worker holds. The decoder is destroyed before `lease` gives it back.
  struct WorkerState {
    const int worker;
    const int threads;  // of a software decoder
    DecoderLease lease;
    std::unique_ptr<Decoder> decoder = nullptr;
    const AVCodecParameters* codec = nullptr;  // the decoder was opened with these
    int64_t waited_ns = 0;                     // for room
  };

  FrameStream(const FrameIndex& index, const ByteSource& source, const std::vector<int64_t>& frames,
              const ReadOptions& options, FrameSink* sink);

  void PlanStretches();
  int StartThreads(int first_worker);
  void Work(int worker);
  void EndWork(int workers);
  void Grow();
  void TakeStretches(WorkerState* state);
  absl::Status DecodeStretch(const Stretch& stretch, WorkerState* state);
  absl::Status DecodeFirstAgain(size_t end, WorkerState* state, size_t* at);
  absl::StatusOr<bool> DecodeFast(const Segment& segment, WorkerState* state, ErrorReports reports,
                                  DamagedFrames* causes);
  absl::StatusOr<bool> Decode(const Segment& segment, Decoder* decoder, ErrorReports reports,
                              WorkerState* state, DamagedFrames* causes);
  absl::StatusOr<std::unique_ptr<Decoder>> OpenFast(const AVCodecParameters& codec,
                                                    int threads) const;
  absl::StatusOr<std::unique_ptr<Decoder>> OpenSoftware(const AVCodecParameters& codec,
                                                        int threads) const;
  DecoderOptions Options(int threads) const;
  bool IsPartlyDone(const Segment& segment) const;
  bool IsSoftware() const { return options_.factory.open == nullptr; }

  absl::Status WaitForRoom(int frame, int64_t* waited_ns);
  bool HasRoom(int frame);
  void Settle(int frame, const absl::Status& damage);
  void Fail(const absl::Status& status);
  void WakeWaiting() const;

  const FrameIndex& index_;
  const ByteSource& source_;
  const ReadOptions options_;
  FrameSink* const sink_;
  const std::vector<Segment> segments_;
  const bool is_bounded_;  // there is not always room for all frames
  std::optional<ThreadGrant> grant_;
  ThreadPlan plan_;
  int most_workers_ = 0;  // plan_.workers, and those for cores that other decodes may give back
  std::vector<Stretch> todo_;
  std::atomic<size_t> next_stretch_{0};
  bool has_worked_ = false;  // the reader's thread, see Next
  bool last_try_ = false;
  std::atomic<int> working_{0};      // workers
  std::atomic<int> next_worker_{0};  // those before it have begun
  std::atomic<bool> ended_{false};   // stopped or failed: nobody decodes any more

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable has_room_, has_frame_;
  std::vector<int> wanted_;  // in the order of display
  size_t next_ = 0;          // the place in wanted_ of the frame that Next gives
  // By display index: the frame has its verdict. A worker reads it for its own frames without the
  // mutex.
  std::vector<char> done_;
  DamagedFrames damaged_;
  int limit_;  // there is room up to this display index
  bool stopped_ = false;
  absl::Status status_;  // the first failure
  std::vector<Stretch> put_back_;

  std::vector<std::thread> threads_;  // of a stream in_threads, guarded until it ended
};

// Decodes each of `frames` once. `frames` holds display indices of the index in any order, also
// repeated ones. `damaged` receives the frames that can't be trusted. All other failures are
// returned as the status.
absl::Status ReadFrames(const FrameIndex& index, const ByteSource& source,
                        const std::vector<int64_t>& frames, const ReadOptions& options,
                        FrameSink* sink, DamagedFrames* damaged);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_FRAME_STREAM_H_
