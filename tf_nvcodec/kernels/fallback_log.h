// Logs why work runs on the CPU although a GPU was possible.
#ifndef TF_NVCODEC_KERNELS_FALLBACK_LOG_H_
#define TF_NVCODEC_KERNELS_FALLBACK_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// Logs a warning that tf_nvcodec does `does`, such as "decodes on the CPU, not with NVDEC", because
// of `why`. Logs each reason once, and at most 100 reasons: they name sizes and formats, of which
// there may be any number.
void LogFallback(absl::string_view does, const std::string& why);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_FALLBACK_LOG_H_
