// Reads a file of any of TensorFlow's file systems by byte range.
#ifndef TF_NVCODEC_KERNELS_STREAM_FILE_SOURCE_H_
#define TF_NVCODEC_KERNELS_STREAM_FILE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/platform/env.h"
#include "tf_nvcodec/core/base/byte_source.h"

namespace nvc {

// Returns whether reading `name` may mean requests to another machine. True for every name with a
// scheme except file:// and ram://.
bool IsRemote(const std::string& name);

// Opens the file `name`. `size` is the size that the file system reports, in bytes. A local file is
// read exactly as the caller reads it. Of a remote file, the ranges that the caller announces are
// read whole, and otherwise aligned blocks, which grow while the caller reads forward. The latest
// ranges are kept. Errors such as NotFound name the file.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(::tensorflow::Env* env,
                                                     const std::string& name, int64_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_STREAM_FILE_SOURCE_H_
