// Keeps FFmpeg's log lines off stderr and hands the last error of this thread to a status message.
#ifndef TF_NVCODEC_CORE_AV_LOG_H_
#define TF_NVCODEC_CORE_AV_LOG_H_

#include <string>

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

  // " (<last error line>)", or "" when nothing was logged: to append to a status message.
  std::string Detail() const;
  void Clear() { last_error_.clear(); }

 private:
  friend struct AvLogSink;
  AvLogScope* outer_;
  std::string last_error_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_AV_LOG_H_
