// Logs what tf_nvcodec does instead of what its user may expect: work on the CPU although a GPU was
// possible, frames as they are stored although they have a display matrix.
#ifndef TF_NVCODEC_KERNELS_DECODE_FALLBACK_LOG_H_
#define TF_NVCODEC_KERNELS_DECODE_FALLBACK_LOG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// Logs a warning that tf_nvcodec does `does`, such as "decodes on the CPU, not with NVDEC", because
// of `why`. Logs each reason once, and at most 100 reasons: they name sizes and formats, of which
// there may be any number.
void LogFallback(absl::string_view does, const std::string& why);

// Logs that frames are left as stored because of StreamInfo::odd_matrix, if that is not empty.
void LogOddMatrix(const std::string& odd_matrix);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DECODE_FALLBACK_LOG_H_
