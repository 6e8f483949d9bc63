#ifndef TF_NVCODEC_KERNELS_FALLBACK_LOG_H_
#define TF_NVCODEC_KERNELS_FALLBACK_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// Warns that tf_nvcodec does so, such as "decodes on the CPU, not with NVDEC", once for each
// reason. Reasons name sizes and formats, of which there may be any number: the first 100 are told.
void LogFallback(absl::string_view does, const std::string& why);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_FALLBACK_LOG_H_
