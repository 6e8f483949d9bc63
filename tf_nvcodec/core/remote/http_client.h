// Sends GET requests by libcurl. Connections are kept for later requests, and what may pass by
// itself is tried again.
#ifndef TF_NVCODEC_CORE_REMOTE_HTTP_CLIENT_H_
#define TF_NVCODEC_CORE_REMOTE_HTTP_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nvc {

// The bytes [begin, end) of a file.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

// The keys of an AWS Signature Version 4 for the service s3.
struct AwsSignature {
  std::string key_id, secret, token;  // no token: ""
  std::string region;
};

struct HttpRequest {
  std::string url;
  std::optional<ByteRange> range;  // none: all of the body
  std::string if_match;            // an ETag that the file must still have; "" any
  std::optional<AwsSignature> signature;
  bool follow_redirects = false;  // to https:// only
  bool use_netrc = false;         // take a password from ~/.netrc
};

struct HttpReply {
  int status = 0;                              // 0: no answer came
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // of an error, or of a request without a range
  size_t read = 0;                             // bytes of the range
  // Why there is no whole answer, such as "Could not resolve host"; "" if there is one.
  std::string failure;
  bool bad_certificate = false;
  bool cancelled = false;       // by this thread's CancelScope
  bool ignores_ranges = false;  // the server sends the whole file instead of the range
  bool is_final = false;        // another attempt would fail too
  int attempts = 1;

  const std::string& Header(const std::string& name) const;
  // Whether the range or the body is there.
  bool ok() const { return failure.empty() && (status == 200 || status == 206); }
};

// Writes the bytes for which is_plain is false as "%41".
std::string PercentEncoded(absl::string_view text, bool (*is_plain)(char byte));

// Gets the URL. The bytes of the range go to `out`, which has room for it; it is null without a
// range. Answers that say "later" (429, 500, 502, 503, 504), failed connections and answers that
// stop in the middle are tried again, with growing pauses: TF_NVCODEC_HTTP_ATTEMPTS times in a row,
// by default 6. What was read before the failure is not read again. A connection counts as failed
// when nothing comes for TF_NVCODEC_HTTP_TIMEOUT seconds, by default 30. The CancelScope of the
// thread ends all of it within a second.
HttpReply HttpGet(const HttpRequest& request, char* out = nullptr);

// Returns the status for a reply that is not ok(): what the CancelScope says, NotFound,
// PermissionDenied, FailedPrecondition or Unavailable. `name` is the file's name, `detail` what the
// server says about the cause.
absl::Status HttpError(const HttpReply& reply, absl::string_view name, absl::string_view detail);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_REMOTE_HTTP_CLIENT_H_
