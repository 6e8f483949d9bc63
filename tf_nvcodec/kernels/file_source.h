// A file of any of TensorFlow's file systems, read by range.
#ifndef TF_NVCODEC_KERNELS_FILE_SOURCE_H_
#define TF_NVCODEC_KERNELS_FILE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/platform/env.h"
#include "tf_nvcodec/core/base/byte_source.h"

namespace nvc {

// Whether `name` is of a file system whose reads are calls to another machine, for all we know.
bool IsRemote(const std::string& name);

// `size` as the file system tells it. A local file is read as asked; a remote one in aligned blocks
// of which the latest are kept, larger ones while it is read in order. NotFound and the like name
// the file.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(::tensorflow::Env* env,
                                                     const std::string& name, int64_t size);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_FILE_SOURCE_H_
