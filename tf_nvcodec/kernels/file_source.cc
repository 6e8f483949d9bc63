#include "tf_nvcodec/kernels/file_source.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/string_view.h"

namespace nvc {

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::Open(::tensorflow::Env* env,
                                                             const std::string& name,
                                                             int64_t size) {
  std::unique_ptr<::tensorflow::RandomAccessFile> file;
  absl::Status opened = env->NewRandomAccessFile(name, &file);
  if (!opened.ok()) return opened;
  return std::unique_ptr<FileSource>(new FileSource(std::move(file), size));
}

absl::StatusOr<size_t> FileSource::ReadAt(int64_t offset, void* out, size_t count) const {
  if (offset < 0 || offset >= size_) return 0;
  count = std::min(count, static_cast<size_t>(size_ - offset));
  absl::string_view read;
  const absl::Status status =
      file_->Read(static_cast<uint64_t>(offset), count, &read, static_cast<char*>(out));
  // OutOfRange: the file has become shorter since its size was asked.
  if (!status.ok() && !absl::IsOutOfRange(status)) return status;
  if (read.data() != out) std::memmove(out, read.data(), read.size());
  return read.size();
}

}  // namespace nvc
