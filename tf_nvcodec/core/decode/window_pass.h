// Decodes many windows of one video in one pass: each picture is decoded once, whichever windows
// want it, and no more windows are in memory than the caller allows.
#ifndef TF_NVCODEC_CORE_DECODE_WINDOW_PASS_H_
#define TF_NVCODEC_CORE_DECODE_WINDOW_PASS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/decode/frame_collector.h"
#include "tf_nvcodec/core/decode/video_reader.h"

namespace nvc {

// The frames of a window by display index, in ascending order; a frame may repeat itself.
using Window = std::vector<int64_t>;

// True when the decoder reaches the frames of the whole video in the order in which they are shown.
// In a video that was joined from parts with jumping times it may not. Then a pass of several
// windows would wait for frames that are decoded later, so each pass must have one window alone.
bool DecodesInOrder(const FrameIndex& index);

// True when a pass can go from window `a` to window `b`: both begin and end no later in `b`, and
// the frames of each are in order.
bool Follows(const Window& a, const Window& b);
bool IsAscending(const Window& window);

class WindowPass : private FrameSink {
 public:
  // What became of a window: an error, or FrameCollector::Finish's result.
  struct Result {
    absl::Status status;
    std::vector<bool> valid;
    std::vector<size_t> slots;
  };
  // Windows are numbered in the order given to the constructor. The functions are called from the
  // threads of the pass, several at once, but for one window never two at once.
  struct Callbacks {
    // Returns memory for `count` frames of `shape`. It must live until the window finishes, or the
    // pass is destroyed.
    std::function<absl::StatusOr<void*>(size_t window, const FrameShape& shape, int64_t count)>
        allocate;
    // Makes the target of one window, or of all windows if FrameTarget::IsImmediate.
    std::function<std::unique_ptr<FrameTarget>()> new_target;
    // Called once for each window when its frames are in memory, or with the window's own error.
    std::function<void(size_t window, Result result)> finished;
  };

  // Each window must follow the one before, and there is only one unless DecodesInOrder. The caller
  // allows about `ahead` windows that it has not got yet, at least 1. `index` and `source` must
  // outlive the pass. The pass sets options.lookahead, which has no limit if all windows are
  // allowed before Run.
  WindowPass(const FrameIndex& index, const ByteSource& source, std::vector<Window> windows,
             size_t ahead, const OutputSpec& output, OnError on_error, ReadOptions options,
             Callbacks callbacks);
  ~WindowPass() override;

  // Lets the pass go on to the end of the first `count` windows. Windows that overlap the last of
  // them take memory, too. Thread-safe.
  void Allow(size_t count);
  // Nobody wants this window, which the pass may not have at all. It never finishes, unless it has
  // begun. Thread-safe.
  void Drop(size_t window);
  // Makes Run return Cancelled. Thread-safe.
  void Stop();
  // Makes Run return DeadlineExceeded if no window finishes for so many seconds, not counting the
  // time in which a worker waits for windows to be allowed. 0 means no limit. Call it before Run.
  void LimitWindows(double seconds) { seconds_per_window_ = seconds; }

  // Decodes all windows. Waits between windows until they are allowed. Returns an error that is not
  // about single frames; the windows that did not finish then never do. Returns Aborted if the
  // index is made of the sample table alone and decoding shows that it is wrong.
  absl::Status Run();
  // The number of windows that have finished or were dropped without a gap from the first on.
  size_t num_finished() const;
  // Nanoseconds that a worker has waited for windows to be allowed; a mean if there are several.
  int64_t waited_ns() const;

 private:
  struct Open;

  void Start(int workers) override;
  absl::Status WaitForRoom(int frame) override;
  bool HasRoom(int frame) override;
  void Abandon() override { Stop(); }
  absl::Status Write(int worker, int frame, const AVFrame& picture) override;
  absl::Status Settle(int frame, const absl::Status& damage) override;
  void Leave(int worker) override;

  bool IsAllowed(int frame) const;  // the caller holds mutex_
  std::vector<std::shared_ptr<Open>> WindowsWith(int frame);
  void Finish(Open* window);
  void SetOver(size_t window);
  void RestartClock();
  bool IsOverdue();

  const FrameIndex& index_;
  const ByteSource& source_;
  const std::vector<Window> windows_;
  const size_t ahead_;
  const OutputSpec output_;
  const OnError on_error_;
  ReadOptions options_;
  const Callbacks callbacks_;
  std::unique_ptr<FrameTarget> shared_target_;  // null if each window has its own
  std::unique_ptr<FrameConverters> shared_converters_;
  int workers_ = 1;

  double seconds_per_window_ = 0;
  std::atomic<int64_t> clock_began_ns_{0};
  std::atomic<bool> overdue_{false};
  std::atomic<bool> stopped_{false};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t allowed_ = 0;
  int64_t waited_ns_ = 0;
  std::vector<std::shared_ptr<Open>> open_;  // by window; null: not begun, or finished
  std::vector<char> over_;                   // by window: finished or dropped
  size_t num_finished_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DECODE_WINDOW_PASS_H_
