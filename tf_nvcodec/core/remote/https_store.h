// Files of web servers: names are their addresses, "https://host/path".
#ifndef TF_NVCODEC_CORE_REMOTE_HTTPS_STORE_H_
#define TF_NVCODEC_CORE_REMOTE_HTTPS_STORE_H_

#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/remote/remote_file.h"

namespace nvc {

// Passwords come from ~/.netrc. An address with a password in it is InvalidArgument, because names
// are written in messages.
class HttpsStore : public RemoteStore {
 public:
  absl::StatusOr<HttpReply> Get(const std::string& name, const ByteRange& range,
                                const std::string& if_match, char* out) const override;
  absl::Status ErrorOf(const std::string& name, const HttpReply& reply) const override;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_REMOTE_HTTPS_STORE_H_
