// A file of any of TensorFlow's file systems, read by range.
#ifndef TF_NVCODEC_KERNELS_FILE_SOURCE_H_
#define TF_NVCODEC_KERNELS_FILE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/platform/file_system.h"
#include "tf_nvcodec/core/byte_source.h"

namespace nvc {

class FileSource : public ByteSource {
 public:
  // `size` as the file system tells it. NotFound and the like name the file.
  static absl::StatusOr<std::unique_ptr<FileSource>> Open(::tensorflow::Env* env,
                                                          const std::string& name, int64_t size);

  int64_t Size() const override { return size_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override;

 private:
  FileSource(std::unique_ptr<::tensorflow::RandomAccessFile> file, int64_t size)
      : file_(std::move(file)), size_(size) {}

  const std::unique_ptr<::tensorflow::RandomAccessFile> file_;
  const int64_t size_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_FILE_SOURCE_H_
