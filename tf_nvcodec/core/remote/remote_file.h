// A file on a server, which is read by ranges and may not change meanwhile.
#ifndef TF_NVCODEC_CORE_REMOTE_REMOTE_FILE_H_
#define TF_NVCODEC_CORE_REMOTE_REMOTE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/core/remote/http_client.h"

namespace nvc {

// Knows how the files of one scheme are asked for. Thread-safe.
class RemoteStore {
 public:
  virtual ~RemoteStore() = default;
  // Asks for a range of a file, whose bytes go to `out`. The reply may be an error's.
  virtual absl::StatusOr<HttpReply> Get(const std::string& name, const ByteRange& range,
                                        const std::string& if_match, char* out) const = 0;
  // Returns the status for a reply that is not ok().
  virtual absl::Status ErrorOf(const std::string& name, const HttpReply& reply) const = 0;
};

// What a server says about a file.
struct RemoteFacts {
  int64_t size = 0;
  int64_t mtime_ns = 0;  // 0: unknown
  std::string etag, last_modified;
};

// Asks for the first byte of a file: an address that is signed for reading allows no HEAD.
absl::StatusOr<RemoteFacts> Look(const RemoteStore& store, const std::string& name);

// Reads up to `count` bytes at `offset`, fewer only at the end of the file. Returns
// FailedPrecondition if the file is not the one that `facts` are about.
absl::StatusOr<size_t> ReadRemote(const RemoteStore& store, const std::string& name,
                                  const RemoteFacts& facts, int64_t offset, size_t count,
                                  char* out);

// Returns a time such as "Sun, 06 Nov 1994 08:49:37 GMT" or "1994-11-06T08:49:37.000Z" in
// nanoseconds since 1970; 0 if it is none.
int64_t TimeNs(const std::string& text);

// Returns the name as messages show it. In an address, what follows a "?" may be a key to the file.
std::string ShownName(absl::string_view name);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_REMOTE_REMOTE_FILE_H_
