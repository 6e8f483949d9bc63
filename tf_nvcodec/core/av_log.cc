#include "tf_nvcodec/core/av_log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

extern "C" {
#include <libavutil/log.h>
}

namespace nvc {
namespace {
thread_local AvLogScope* innermost = nullptr;
}  // namespace

struct AvLogSink {
  static void Write(void* context, int level, const char* format, va_list arguments) {
    if (level > AV_LOG_ERROR) return;
    if (innermost == nullptr) {
      if (level <= AV_LOG_FATAL) av_log_default_callback(context, level, format, arguments);
      return;
    }
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) innermost->last_error_ = std::string(text);
  }
};

AvLogScope::AvLogScope() : outer_(innermost) {
  static std::once_flag installed;
  std::call_once(installed, [] { av_log_set_callback(&AvLogSink::Write); });
  innermost = this;
}

AvLogScope::~AvLogScope() { innermost = outer_; }

std::string AvLogScope::Detail() const {
  return last_error_.empty() ? std::string() : absl::StrCat(" (", last_error_, ")");
}

}  // namespace nvc
