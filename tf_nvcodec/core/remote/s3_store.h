// Files of S3 and of servers that speak its protocol: "s3://bucket/key".
#ifndef TF_NVCODEC_CORE_REMOTE_S3_STORE_H_
#define TF_NVCODEC_CORE_REMOTE_S3_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/remote/aws_settings.h"
#include "tf_nvcodec/core/remote/remote_file.h"

namespace nvc {

struct S3Name {
  std::string bucket, key;
};

// Returns InvalidArgument for a name without a bucket.
absl::StatusOr<S3Name> ParseS3Name(const std::string& name);

// Returns the address of an object; of a bucket's list if `key` is empty. Amazon's servers have a
// name for each bucket; at another endpoint, or with a dot in the bucket's name, which no
// certificate of Amazon's covers, the bucket is the first part of the path.
std::string S3Url(const AwsSettings& settings, const S3Name& object, absl::string_view query = "");

// A page of ListObjectsV2.
struct S3Page {
  struct Object {
    std::string key;
    int64_t size = 0;
    int64_t mtime_ns = 0;
  };
  std::vector<Object> objects;
  std::vector<std::string> folders;  // the common prefixes
  std::string next;                  // where the next page begins; "" on the last
};
absl::StatusOr<S3Page> ParseS3Page(absl::string_view xml);

// Returns the text between <tag> and </tag>, as it is; "" if there is none.
absl::string_view XmlText(absl::string_view xml, absl::string_view tag);

class S3Store : public RemoteStore {
 public:
  absl::StatusOr<HttpReply> Get(const std::string& name, const ByteRange& range,
                                const std::string& if_match, char* out) const override;
  absl::Status ErrorOf(const std::string& name, const HttpReply& reply) const override;

  // Calls `page` with the objects whose keys begin with that of `prefix`, in order, until it
  // returns false. With `by_folder`, those below a further "/" become folders.
  absl::Status List(const S3Name& prefix, bool by_folder,
                    const std::function<bool(const S3Page&)>& page) const;

 private:
  // Sends the request, again if the answer names the region that the bucket is in.
  absl::StatusOr<HttpReply> Send(const S3Name& object, absl::string_view query,
                                 HttpRequest* request, char* out) const;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_REMOTE_S3_STORE_H_
