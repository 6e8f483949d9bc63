#include "tf_nvcodec/core/ffmpeg/av_log.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/fork_lock.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/log.h>
}

namespace nvc {
namespace {
thread_local AvLogScope* innermost = nullptr;

std::mutex flags_mutex;
const bool held_in_forks = HoldInForks(&flags_mutex);
std::set<AvErrorFlag*>& Flags() {
  static auto* const flags = new std::set<AvErrorFlag*>;
  return *flags;
}
}  // namespace

struct AvLogSink {
  static void Install() {
    static std::once_flag installed;
    std::call_once(installed, [] { av_log_set_callback(&AvLogSink::Write); });
  }

  static void Flag(void* context, bool concealed) {
    if (context == nullptr) return;
    const AVClass* kind = *static_cast<const AVClass**>(context);
    if (kind == nullptr || kind != avcodec_get_class()) return;
    auto* flag = static_cast<AvErrorFlag*>(static_cast<AVCodecContext*>(context)->opaque);
    std::lock_guard<std::mutex> lock(flags_mutex);
    if (Flags().count(flag) == 0) return;
    flag->seen_ = true;
    if (concealed) flag->concealed_ = true;
  }

  static void Write(void* context, int level, const char* format, va_list arguments) {
    // FFmpeg logs error concealment as information. For some damage there is no other sign.
    const bool concealed = std::strncmp(format, "concealing", 10) == 0;
    if (level <= AV_LOG_ERROR || concealed) Flag(context, concealed);
    if (level > AV_LOG_ERROR) return;
    if (innermost == nullptr) {
      if (level <= AV_LOG_FATAL) av_log_default_callback(context, level, format, arguments);
      return;
    }
    char line[512];
    std::vsnprintf(line, sizeof(line), format, arguments);
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    try {
      innermost->Add(text);
    } catch (const std::bad_alloc&) {
      // The exception must not pass through FFmpeg's stack frames, which would leak what they hold.
    }
  }
};

AvLogScope::AvLogScope() : outer_(innermost) {
  AvLogSink::Install();
  innermost = this;
}

AvLogScope::~AvLogScope() { innermost = outer_; }

AvErrorFlag::AvErrorFlag() {
  AvLogSink::Install();
  std::lock_guard<std::mutex> lock(flags_mutex);
  Flags().insert(this);
}

AvErrorFlag::~AvErrorFlag() {
  std::lock_guard<std::mutex> lock(flags_mutex);
  Flags().erase(this);
}

void AvLogScope::Add(absl::string_view line) {
  constexpr size_t kEnough = 240;
  if (line.empty() || errors_.size() > kEnough || absl::StrContains(errors_, line)) return;
  absl::StrAppend(&errors_, errors_.empty() ? "" : "; ", line);
}

std::string AvLogScope::Detail() const {
  return errors_.empty() ? std::string() : absl::StrCat(" (", errors_, ")");
}

}  // namespace nvc
