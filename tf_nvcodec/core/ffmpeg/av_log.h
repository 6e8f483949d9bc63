// Keeps FFmpeg's log lines off stderr, and puts the error lines of a call into its status message.
#ifndef TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_
#define TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_

#include <atomic>
#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// While an AvLogScope is alive, it keeps the error lines that FFmpeg logs on this thread. Scopes
// may nest; the innermost one gets the lines. Lines logged outside every scope (by FFmpeg's own
// worker threads) are dropped unless they are fatal.
class AvLogScope {
 public:
  AvLogScope();
  ~AvLogScope();
  AvLogScope(const AvLogScope&) = delete;
  AvLogScope& operator=(const AvLogScope&) = delete;

  // Returns " (<error lines, the cause first>)", or "" when nothing was logged. Append it to a
  // status message.
  std::string Detail() const;

 private:
  friend struct AvLogSink;
  void Add(absl::string_view line);

  AvLogScope* outer_;
  std::string errors_;
};

// Notes when a codec context logs an error on any thread, also on FFmpeg's own frame threads, whose
// frames do not always carry error flags. The context is recognised by its `opaque`.
class AvErrorFlag {
 public:
  AvErrorFlag();
  ~AvErrorFlag();
  AvErrorFlag(const AvErrorFlag&) = delete;
  AvErrorFlag& operator=(const AvErrorFlag&) = delete;

  // Set AVCodecContext::opaque to this.
  void* opaque() { return this; }
  // Returns true if there was an error since the last call.
  bool Take() { return seen_.exchange(false); }
  // Returns true if FFmpeg concealed damage in a picture since the last call. Then the picture is
  // damaged for certain, while an error may concern data that no picture needs.
  bool TakeConcealment() { return concealed_.exchange(false); }

 private:
  friend struct AvLogSink;
  std::atomic<bool> seen_{false}, concealed_{false};
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_
