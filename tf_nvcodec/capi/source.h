// Where Python says that encoded bytes are: a file, its own memory, or functions of its own.
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

// A regular file, read by range. NotFound, PermissionDenied, InvalidArgument (a folder or a pipe).
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path);

}  // namespace nvc

// Puts up to `count` bytes from `offset` on into `out`: how many, 0 at the end, or negative when it
// failed. May be called on several threads at once.
typedef int64_t (*nvc_read_function)(int64_t offset, void* out, size_t count);

struct nvc_source {
  std::string name;  // for errors
  std::shared_ptr<const nvc::ByteSource> bytes;

  absl::Status Named(const absl::Status& status) const;
};

NVC_API int nvc_source_of_file(const char* path, nvc_source** source);
// Borrows the memory for as long as the source, or what was opened with it, lives.
NVC_API int nvc_source_of_memory(const char* name, const void* data, size_t size,
                                 nvc_source** source);
// `size` negative: a source that is read once, from its beginning to its end.
NVC_API int nvc_source_of_function(const char* name, nvc_read_function read, int64_t size,
                                   nvc_source** source);
NVC_API void nvc_source_free(nvc_source* source);

#endif  // TF_NVCODEC_CAPI_SOURCE_H_
