#include "tf_nvcodec/kernels/stream/file_source.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/platform/file_system.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

using ::tensorflow::Env;
using ::tensorflow::RandomAccessFile;

absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(Env* env, const std::string& name) {
  std::unique_ptr<RandomAccessFile> file;
  absl::Status opened = env->NewRandomAccessFile(name, &file);
  if (!opened.ok()) return opened;
  return file;
}

// Reads up to `count` bytes. Returns fewer if the file has become shorter since its size was read.
absl::StatusOr<size_t> Read(const RandomAccessFile& file, int64_t offset, void* out, size_t count) {
  absl::string_view read;
  const absl::Status status =
      file.Read(static_cast<uint64_t>(offset), count, &read, static_cast<char*>(out));
  if (!status.ok() && !absl::IsOutOfRange(status)) return status;
  if (read.data() != out) std::memmove(out, read.data(), read.size());
  return read.size();
}

class LocalSource : public ByteSource {
 public:
  LocalSource(std::unique_ptr<RandomAccessFile> file, int64_t size)
      : file_(std::move(file)), size_(size) {}

  int64_t Size() const override { return size_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    if (offset < 0 || offset >= size_) return 0;
    return Read(*file_, offset, out, std::min(count, static_cast<size_t>(size_ - offset)));
  }

 private:
  const std::unique_ptr<RandomAccessFile> file_;
  const int64_t size_;
};

class RemoteSource : public ByteSource {
 public:
  RemoteSource(Env* env, std::string name, std::unique_ptr<RandomAccessFile> file, int64_t size)
      : env_(env), name_(std::move(name)), size_(size), file_(std::move(file)) {}

  int64_t Size() const override { return size_; }
  // A connection of 100 Mbit/s delivers about this many bytes in the time that a request takes.
  int64_t ReadOverhead() const override { return kBlock; }

  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    if (offset < 0 || offset >= size_) return 0;
    count = std::min(count, static_cast<size_t>(size_ - offset));
    std::lock_guard<std::mutex> lock(mutex_);
    size_t done = 0;
    while (done < count) {
      const int64_t at = offset + static_cast<int64_t>(done);
      NVC_ASSIGN_OR_RETURN(const Range* range, Hold(at, offset + static_cast<int64_t>(count)));
      const auto skip = static_cast<size_t>(at - range->begin);
      if (skip >= range->bytes.size()) break;  // the file has become shorter
      const size_t n = std::min(count - done, range->bytes.size() - skip);
      std::memcpy(static_cast<char*>(out) + done, range->bytes.data() + skip, n);
      done += n;
    }
    return done;
  }

 private:
  static constexpr int64_t kBlock = int64_t{1} << 20, kMostBlocks = 8;
  static constexpr size_t kRangesKept = 6;

  struct Range {
    int64_t begin = 0, size = 0;
    std::vector<char> bytes;
  };

  // Returns the range of bytes that holds `at`. If it has to read a new range, that range reaches
  // up to `end`, but has kMostBlocks blocks at most.
  absl::StatusOr<const Range*> Hold(int64_t at, int64_t end) const {
    for (auto range = latest_first_.begin(); range != latest_first_.end(); ++range) {
      if (at < range->begin || at >= range->begin + range->size) continue;
      latest_first_.splice(latest_first_.begin(), latest_first_, range);
      return &latest_first_.front();
    }
    const int64_t begin = at / kBlock * kBlock;
    ahead_ = begin == next_ ? std::min(2 * ahead_, kMostBlocks) : 1;
    const int64_t wanted = (end - begin + kBlock - 1) / kBlock;
    const int64_t blocks = std::min(std::max(ahead_, wanted), kMostBlocks);
    Range range;
    range.begin = begin;
    range.size = std::min(blocks * kBlock, size_ - begin);
    range.bytes.resize(static_cast<size_t>(range.size));
    if (begin < next_) {
      // The gs:// plugin (0.37.1) reads outside its buffer when a file is read backwards.
      NVC_ASSIGN_OR_RETURN(file_, Open(env_, name_));
    }
    NVC_ASSIGN_OR_RETURN(const size_t read,
                         Read(*file_, begin, range.bytes.data(), range.bytes.size()));
    range.bytes.resize(read);
    next_ = begin + range.size;
    latest_first_.push_front(std::move(range));
    if (latest_first_.size() > kRangesKept) latest_first_.pop_back();
    return &latest_first_.front();
  }

  Env* const env_;
  const std::string name_;
  const int64_t size_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<RandomAccessFile> file_;
  mutable std::list<Range> latest_first_;
  mutable int64_t next_ = 0, ahead_ = 1;
};

}  // namespace

bool IsRemote(const std::string& name) {
  return absl::StrContains(name, "://") && !absl::StartsWith(name, "file://") &&
         !absl::StartsWith(name, "ram://");
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(Env* env, const std::string& name,
                                                     int64_t size) {
  NVC_ASSIGN_OR_RETURN(auto file, Open(env, name));
  if (IsRemote(name)) return std::make_unique<RemoteSource>(env, name, std::move(file), size);
  return std::make_unique<LocalSource>(std::move(file), size);
}

}  // namespace nvc
