// The C API's sources of encoded bytes: a file, memory of Python, or a Python function.
#ifndef TF_NVCODEC_CAPI_SOURCE_H_
#define TF_NVCODEC_CAPI_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/capi/export.h"
#include "tf_nvcodec/core/base/byte_source.h"

namespace nvc {

// Opens a regular file to read it by range. Returns NotFound, PermissionDenied, or InvalidArgument
// for a folder or a pipe.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path);

}  // namespace nvc

// Writes up to `count` bytes from `offset` on to `out`. Returns their number, 0 at the end, or a
// negative number after a failure. Several threads may call it at once.
typedef int64_t (*nvc_read_function)(int64_t offset, void* out, size_t count);

struct nvc_source {
  std::string name;  // for error messages
  std::shared_ptr<const nvc::ByteSource> bytes;

  // Puts the name before an error's message.
  absl::Status Named(const absl::Status& status) const;
};

NVC_API int nvc_source_of_file(const char* path, nvc_source** source);
// Borrows the memory as long as the source, or anything opened with it, lives.
NVC_API int nvc_source_of_memory(const char* name, const void* data, size_t size,
                                 nvc_source** source);
// A negative `size` means that the source is read once, from beginning to end.
NVC_API int nvc_source_of_function(const char* name, nvc_read_function read, int64_t size,
                                   nvc_source** source);
NVC_API void nvc_source_free(nvc_source* source);

#endif  // TF_NVCODEC_CAPI_SOURCE_H_
