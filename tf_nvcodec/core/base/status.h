// Adds to absl::Status what the core needs: FFmpeg's error codes and early returns.
#ifndef TF_NVCODEC_CORE_BASE_STATUS_H_
#define TF_NVCODEC_CORE_BASE_STATUS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// Returns FFmpeg's text for `averror`, e.g. "Invalid data found when processing input".
std::string FfmpegErrorText(int averror);

// Converts an AVERROR code to the status that a user should see: ResourceExhausted for lack of
// memory, Cancelled for cancelled I/O, Unimplemented for a missing codec, and DataLoss for
// everything else. The message reads "<doing>: <FFmpeg's text>".
absl::Status FfmpegError(int averror, absl::string_view doing);

}  // namespace nvc

#define NVC_RETURN_IF_ERROR(expr)            \
  do {                                       \
    absl::Status nvc_status = (expr);        \
    if (!nvc_status.ok()) return nvc_status; \
  } while (false)

#define NVC_CONCAT_INNER(a, b) a##b
#define NVC_CONCAT(a, b) NVC_CONCAT_INNER(a, b)
#define NVC_ASSIGN_OR_RETURN(lhs, expr) \
  NVC_ASSIGN_OR_RETURN_IMPL(NVC_CONCAT(nvc_statusor_, __LINE__), lhs, expr)
#define NVC_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return std::move(tmp).status();  \
  lhs = std::move(tmp).value()

#endif  // TF_NVCODEC_CORE_BASE_STATUS_H_
