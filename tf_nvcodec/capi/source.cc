#include "tf_nvcodec/capi/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tf_nvcodec/capi/error.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

class FileSource : public ByteSource {
 public:
  FileSource(int file, int64_t size) : file_(file), size_(size) {}
  ~FileSource() override { close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  int64_t Size() const override { return size_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    size_t done = 0;
    while (done < count) {
      const ssize_t read = pread(file_, static_cast<char*>(out) + done, count - done,
                                 static_cast<off_t>(offset) + static_cast<off_t>(done));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return absl::DataLossError(absl::StrCat("reading: ", std::strerror(errno)));
      if (read == 0) break;
      done += static_cast<size_t>(read);
    }
    return done;
  }

 private:
  const int file_;
  const int64_t size_;
};

absl::StatusOr<size_t> CallRead(nvc_read_function read, int64_t offset, void* out, size_t count) {
  const int64_t got = read(offset, out, count);
  if (got < 0 || static_cast<uint64_t>(got) > count) {
    return absl::DataLossError("the function that gives the bytes failed");
  }
  return static_cast<size_t>(got);
}

class FunctionSource : public ByteSource {
 public:
  FunctionSource(nvc_read_function read, int64_t size) : read_(read), size_(size) {}

  int64_t Size() const override { return size_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    size_t done = 0;
    while (done < count && offset + static_cast<int64_t>(done) < size_) {
      NVC_ASSIGN_OR_RETURN(const size_t got,
                           CallRead(read_, offset + static_cast<int64_t>(done),
                                    static_cast<char*>(out) + done, count - done));
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  const nvc_read_function read_;
  const int64_t size_;
};

// Returns only what one call of the function gives, because the next bytes may come much later.
class StreamSource : public ByteSource {
 public:
  explicit StreamSource(nvc_read_function read) : read_(read) {}

  bool IsSequential() const override { return true; }
  int64_t Size() const override { return position_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    if (offset != position_) return absl::InternalError("a stream can't go back");
    NVC_ASSIGN_OR_RETURN(const size_t got, CallRead(read_, offset, out, count));
    position_ += static_cast<int64_t>(got);
    return got;
  }

 private:
  const nvc_read_function read_;
  mutable std::atomic<int64_t> position_{0};
};

absl::Status FileError(const std::string& path) {
  const int error = errno;  // saved, because an allocation may change errno
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::InvalidArgumentError(message);
}

void Make(absl::string_view name, std::shared_ptr<const ByteSource> bytes, nvc_source** source) {
  *source = new nvc_source{std::string(name), std::move(bytes)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path) {
  // O_NONBLOCK: if the path is a pipe, open must not wait for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return FileError(path);
  struct stat about;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(file);
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": not a regular file; for pipes and sockets pass a function that gives "
                     "the bytes"));
  }
  return std::make_unique<FileSource>(file, static_cast<int64_t>(about.st_size));
}

}  // namespace nvc

absl::Status nvc_source::Named(const absl::Status& status) const {
  if (status.ok() || name.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

int nvc_source_of_file(const char* path, nvc_source** source) {
  return nvc::Guarded([&]() -> absl::Status {
    NVC_ASSIGN_OR_RETURN(std::unique_ptr<nvc::ByteSource> file, nvc::OpenFileSource(path));
    nvc::Make(path, std::move(file), source);
    return absl::OkStatus();
  });
}

int nvc_source_of_memory(const char* name, const void* data, size_t size, nvc_source** source) {
  return nvc::Guarded([&] {
    const absl::string_view contents(static_cast<const char*>(data), size);
    nvc::Make(name, std::make_shared<nvc::MemorySource>(contents), source);
    return absl::OkStatus();
  });
}

int nvc_source_of_function(const char* name, nvc_read_function read, int64_t size,
                           nvc_source** source) {
  return nvc::Guarded([&] {
    if (size < 0) {
      nvc::Make(name, std::make_shared<nvc::StreamSource>(read), source);
    } else {
      nvc::Make(name, std::make_shared<nvc::FunctionSource>(read, size), source);
    }
    return absl::OkStatus();
  });
}

void nvc_source_free(nvc_source* source) { delete source; }
