#include "tf_nvcodec/kernels/decode/fallback_log.h"

#include <cstddef>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/logging.h"

namespace nvc {
namespace {

constexpr size_t kMostReasons = 100;

}  // namespace

void LogFallback(absl::string_view does, const std::string& why) {
  static std::mutex mutex;
  static auto* const logged = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  std::string line = absl::StrCat("tf_nvcodec ", does, ": ", why);
  if (logged->size() >= kMostReasons || !logged->insert(line).second) return;
  LOG(WARNING) << line;
}

void LogOddMatrix(const std::string& odd_matrix) {
  if (odd_matrix.empty()) return;
  LogFallback("leaves frames as stored",
              absl::StrCat("a display matrix, ", odd_matrix, ", is no quarter turn or mirror"));
}

}  // namespace nvc
