// Reads where S3 is and the keys to it, from AWS's variables and files.
#ifndef TF_NVCODEC_CORE_REMOTE_AWS_SETTINGS_H_
#define TF_NVCODEC_CORE_REMOTE_AWS_SETTINGS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace nvc {

struct AwsSettings {
  std::string key_id, secret, token;  // no key_id: requests are not signed
  std::string region;
  std::string endpoint;  // "http(s)://host[:port][/path]"; "": Amazon's
};

// Returns an environment variable; "" if it is not set.
using Environment = std::function<std::string(const char* variable)>;

// Reads the variables AWS_*, and of the profile what they do not say. Returns FailedPrecondition
// for a profile that is missing, or whose keys come from where this does not look. It is read anew
// for each request, because keys that are good for an hour are replaced.
absl::StatusOr<AwsSettings> ReadAwsSettings(const Environment& get);
absl::StatusOr<AwsSettings> ReadAwsSettings();  // of this process's environment

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_REMOTE_AWS_SETTINGS_H_
