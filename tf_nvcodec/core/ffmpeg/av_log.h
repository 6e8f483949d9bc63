// Keeps FFmpeg's log lines off stderr and hands a call's errors to a status message.
#ifndef TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_
#define TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_

#include <atomic>
#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// While one is alive, error lines that FFmpeg logs on this thread are kept here. Scopes may nest;
// the innermost one gets the lines. Lines logged outside every scope (FFmpeg's own worker threads)
// are dropped unless fatal.
class AvLogScope {
 public:
  AvLogScope();
  ~AvLogScope();
  AvLogScope(const AvLogScope&) = delete;
  AvLogScope& operator=(const AvLogScope&) = delete;

  // " (<error lines, the cause first>)", or "" when nothing was logged: to append to a status
  // message.
  std::string Detail() const;

 private:
  friend struct AvLogSink;
  void Add(absl::string_view line);

  AvLogScope* outer_;
  std::string errors_;
};

// Notes whether a codec context logs an error on any thread, FFmpeg's own frame threads included,
// whose frames don't always carry their error flags. Its context is recognised by `opaque`.
class AvErrorFlag {
 public:
  AvErrorFlag();
  ~AvErrorFlag();
  AvErrorFlag(const AvErrorFlag&) = delete;
  AvErrorFlag& operator=(const AvErrorFlag&) = delete;

  // What AVCodecContext::opaque has to be.
  void* opaque() { return this; }
  // Whether there was an error since the last call.
  bool Take() { return seen_.exchange(false); }
  // Whether a picture was patched up since the last call: all of a damaged one was seen then, while
  // errors may also be about what was never needed.
  bool TakeConcealment() { return concealed_.exchange(false); }

 private:
  friend struct AvLogSink;
  std::atomic<bool> seen_{false}, concealed_{false};
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_AV_LOG_H_
