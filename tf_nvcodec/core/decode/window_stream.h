// A stream of windows over a video's frames: each picture is decoded once, whichever windows want
// it, and few windows are in memory at a time.
#ifndef TF_NVCODEC_CORE_DECODE_WINDOW_STREAM_H_
#define TF_NVCODEC_CORE_DECODE_WINDOW_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/frame_stream.h"

namespace nvc {

// The frames of a window by display index, in ascending order; a frame may repeat itself.
using Window = std::vector<int64_t>;

// True when the decoder reaches the frames of the whole video in the order in which they are shown.
// In a video that was joined from parts with jumping times it may not. Then a stream of several
// windows would hold them all in memory, so each stream must have one window alone.
bool DecodesInOrder(const FrameIndex& index);

// True when a stream can go from window `a` to window `b`: both begin and end no later in `b`, and
// the frames of each are in order.
bool Follows(const Window& a, const Window& b);
bool IsAscending(const Window& window);

class WindowStream : private FrameSink {
 public:
  // A window in memory: FrameCollector::Finish's result, or why there is none. The windows behind
  // it can still be read.
  struct Result {
    absl::Status status;
    std::vector<bool> valid;
    std::vector<size_t> slots;
  };
  // Windows are numbered in the order given to Open. The functions are called from several threads
  // at once.
  struct Memory {
    // Returns memory for `count` frames of `shape`. It must live until this window or a later one
    // is read, or the stream is destroyed.
    std::function<absl::StatusOr<void*>(size_t window, const FrameShape& shape, int64_t count)>
        allocate;
    // Makes the target of one window, or of all windows if FrameTarget::IsImmediate.
    std::function<std::unique_ptr<FrameTarget>()> new_target;
  };

  // Each window must follow the one before, and there is only one unless DecodesInOrder. About
  // `ahead` windows are decoded before they are read, and windows that overlap these. With 0, the
  // first call of Read decodes all windows. `outputs` is one for all windows, or one for each.
  // `index` and `source` must outlive the stream, which sets options.in_threads and lookahead.
  static absl::StatusOr<std::unique_ptr<WindowStream>> Open(
      const FrameIndex& index, const ByteSource& source, std::vector<Window> windows, size_t ahead,
      std::vector<OutputSpec> outputs, OnError on_error, ReadOptions options, Memory memory);
  ~WindowStream() override;

  // Waits for `window`, which comes behind all that were read before. Nobody can read the windows
  // before it any more. Returns an error that is not about single frames; the stream has ended
  // then. It is Aborted if the index is made of the sample table alone and decoding shows that it
  // is wrong.
  absl::Status Read(size_t window, const Cancelled& cancelled, Result* result);
  // Makes Read return Cancelled. Thread-safe.
  void Stop() { frames_->Stop(); }
  // Whether there are windows that are not decoded. Thread-safe.
  bool IsDecoding() const { return frames_->IsDecoding(); }

 private:
  struct Begun;

  WindowStream(const FrameIndex& index, std::vector<Window> windows, size_t ahead,
               std::vector<OutputSpec> outputs, OnError on_error, Memory memory);

  void Start(int workers) override;
  absl::Status Write(int worker, int frame, const AVFrame& picture) override;
  void Leave(int worker) override;

  std::vector<std::shared_ptr<Begun>> WindowsWith(int frame);
  void AllowUpTo(size_t window);
  std::shared_ptr<Begun> TakeNext();
  Result Finish(size_t window);

  const FrameIndex& index_;
  const std::vector<Window> windows_;
  const size_t ahead_;
  const std::vector<OutputSpec> outputs_;
  const OnError on_error_;
  const Memory memory_;
  std::unique_ptr<FrameTarget> shared_target_;  // null if each window has its own
  std::unique_ptr<FrameConverters> shared_converters_;
  int workers_ = 1;

  // Only the reader uses these.
  int64_t pulled_ = -1;    // the last frame
  DamagedFrames damaged_;  // frames that were pulled

  std::mutex mutex_;   // guards what follows
  size_t next_ = 0;    // the first window that can still be read; only the reader changes it
  size_t wanted_ = 0;  // those before it take no memory unless they have begun
  std::vector<std::shared_ptr<Begun>> begun_;  // by window; null: not begun, or read

  std::unique_ptr<FrameStream> frames_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_WINDOW_STREAM_H_
