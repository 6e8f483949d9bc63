#include "tf_nvcodec/kernels/stream/file_source.h"

#include <algorithm>
#include <cstring>
#include <deque>
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
  int64_t ReadOverhead() const override { return 1 << 20; }
  void WillRead(int64_t begin, int64_t end) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    expected_.emplace_front(begin, end);
    if (expected_.size() > kExpected) expected_.pop_back();
  }

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
  static constexpr int64_t kBlock = 256 << 10, kMost = 8 << 20, kKept = 64 << 20;
  static constexpr size_t kRangesKept = 6, kExpected = 64;

  struct Range {
    int64_t begin = 0, size = 0;
    std::vector<char> bytes;
  };

  // Returns the range of bytes that holds `at`. If it has to read a new range, that range reaches
  // up to `end`, but has kMost bytes at most.
  absl::StatusOr<const Range*> Hold(int64_t at, int64_t end) const {
    for (auto range = latest_first_.begin(); range != latest_first_.end(); ++range) {
      if (at < range->begin || at >= range->begin + range->size) continue;
      latest_first_.splice(latest_first_.begin(), latest_first_, range);
      return &latest_first_.front();
    }
    Range range = Choose(at, end);
    range.bytes.resize(static_cast<size_t>(range.size));
    if (range.begin < next_ && absl::StartsWith(name_, "gs://")) {
      // The gs:// plugin (0.37.1) reads outside its buffer when a file is read backwards.
      NVC_ASSIGN_OR_RETURN(file_, Open(env_, name_));
    }
    NVC_ASSIGN_OR_RETURN(const size_t read,
                         Read(*file_, range.begin, range.bytes.data(), range.bytes.size()));
    range.bytes.resize(read);
    next_ = range.begin + range.size;
    kept_ += range.size;
    latest_first_.push_front(std::move(range));
    while (latest_first_.size() > kRangesKept && kept_ > kKept) {
      kept_ -= latest_first_.back().size;
      latest_first_.pop_back();
    }
    return &latest_first_.front();
  }

  // Returns where to read for the bytes from `at` on: all that is expected there, or blocks, whose
  // number grows while the file is read forward.
  Range Choose(int64_t at, int64_t end) const {
    const auto expected = std::find_if(expected_.begin(), expected_.end(), [&](const auto& range) {
      return range.first <= at && at < range.second;
    });
    Range range;
    if (expected != expected_.end()) {
      range.begin = at;
      end = std::max(end, expected->second);
    } else {
      range.begin = at / kBlock * kBlock;
      for (const Range& kept : latest_first_) {
        if (kept.begin <= at) range.begin = std::max(range.begin, kept.begin + kept.size);
      }
      end = std::max((end + kBlock - 1) / kBlock * kBlock, range.begin + kBlock);
    }
    ahead_ = range.begin == next_ ? std::min(2 * ahead_, kMost) : kBlock;
    if (range.begin == next_) end = std::max(end, range.begin + ahead_);
    for (const Range& kept : latest_first_) {
      if (kept.begin > at) end = std::min(end, kept.begin);
    }
    range.size = std::min({end - range.begin, kMost, size_ - range.begin});
    return range;
  }

  Env* const env_;
  const std::string name_;
  const int64_t size_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<RandomAccessFile> file_;
  mutable std::list<Range> latest_first_;
  mutable std::deque<std::pair<int64_t, int64_t>> expected_;  // see WillRead; the latest first
  mutable int64_t kept_ = 0;                                  // bytes of latest_first_
  mutable int64_t next_ = -1, ahead_ = kBlock;
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
