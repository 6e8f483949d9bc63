#include "tf_nvcodec/core/index/index_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/md5.h>
}

namespace nvc {
namespace {

// How often a waiting caller checks whether it is cancelled.
constexpr std::chrono::milliseconds kBetweenLooks(20);

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, FileCloser>;

constexpr size_t kMd5Bytes = 16;
std::string Md5(absl::string_view bytes) {
  std::string digest(kMd5Bytes, '\0');
  av_md5_sum(reinterpret_cast<uint8_t*>(&digest[0]), reinterpret_cast<const uint8_t*>(bytes.data()),
             bytes.size());
  return digest;
}

// An index is valid only if this is the same as when it was made.
std::string Header(const FileIdentity& file) {
  return absl::StrCat("NVCINDEX ", kFrameIndexFormat, " ", avformat_version(), " ",
                      avcodec_version(), " ", file.size, " ", file.mtime_ns, " ", file.path.size(),
                      " ", file.path, "\n");
}

absl::Status NotFound(const FileIdentity& file, absl::string_view why) {
  return absl::NotFoundError(absl::StrCat("no frame index for ", file.path, ": ", why));
}

bool OthersCannotWrite(const struct stat& status) {
  const bool own = status.st_uid == ::geteuid() || status.st_uid == 0;
  return own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Reads a file that only this user, or the machine's administrator, can have written.
bool ReadOwn(const std::string& path, std::string* out) {
  const FilePtr file(::fdopen(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), "rb"));
  struct stat status;
  if (file == nullptr || ::fstat(::fileno(file.get()), &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  if (!OthersCannotWrite(status)) return false;
  // A hole makes a file of any size cost nothing to whoever puts it here.
  if (status.st_size > std::numeric_limits<int>::max()) return false;
  out->resize(static_cast<size_t>(status.st_size));
  return std::fread(&(*out)[0], 1, out->size(), file.get()) == out->size();
}

absl::Status Unavailable(absl::string_view doing, const std::string& path) {
  return absl::UnavailableError(absl::StrCat("index cache: ", doing, " ", path, ": ",
                                             std::generic_category().message(errno)));
}

absl::Status MakeDirectory(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == path.size()) {
      return Unavailable("can't make the folder", part);
    }
  }
  return absl::OkStatus();
}

// Writes under another name and then renames, so that whoever opens `path` sees all bytes.
absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  std::string name = absl::StrCat(path, ".XXXXXX");
  FilePtr file(::fdopen(::mkostemp(&name[0], O_CLOEXEC), "wb"));  // mode 0600
  if (file == nullptr) return Unavailable("can't write", path);
  struct stat status;
  if (::fstat(::fileno(file.get()), &status) == 0 && !OthersCannotWrite(status)) {
    ::unlink(name.c_str());
    return absl::PermissionDeniedError(
        absl::StrCat("index cache: others may write files of ", path,
                     ", so that nobody should believe them; choose another folder"));
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) == 0 && written && ::rename(name.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  const absl::Status failed = Unavailable("can't write", path);
  ::unlink(name.c_str());
  return failed;
}

}  // namespace

IndexCache::IndexCache(std::string directory) : directory_(std::move(directory)) {}

std::string IndexCache::FileName(const std::string& path) const {
  return absl::StrCat(directory_, "/", absl::BytesToHexString(Md5(path)), ".nvci");
}

absl::StatusOr<FrameIndex> IndexCache::Load(const FileIdentity& file) const {
  std::string bytes;
  if (!ReadOwn(FileName(file.path), &bytes)) return NotFound(file, "the cache has none");
  absl::string_view rest = bytes;
  if (!absl::ConsumePrefix(&rest, Header(file))) {
    return NotFound(
        file, "the stored index is for an earlier state of the file, or another version wrote it");
  }
  const absl::string_view checksum = rest.substr(0, kMd5Bytes);
  rest.remove_prefix(checksum.size());
  if (Md5(rest) != checksum) return NotFound(file, "the stored index is damaged");
  auto index = ParseFrameIndex(rest);
  if (!index.ok()) return NotFound(file, index.status().message());
  return index;
}

absl::Status IndexCache::Store(const FileIdentity& file, const FrameIndex& index) const {
  NVC_ASSIGN_OR_RETURN(const std::string body, SerializeFrameIndex(index));
  const std::string bytes = absl::StrCat(Header(file), Md5(body), body);
  const std::string path = FileName(file.path);
  const absl::Status status = WriteFile(path, bytes);
  // The folder may be missing. It is made without a check, since another process may make it in
  // between.
  if (!absl::IsUnavailable(status)) return status;
  NVC_RETURN_IF_ERROR(MakeDirectory(directory_));
  return WriteFile(path, bytes);
}

IndexMemory& IndexMemory::Shared() {
  static IndexMemory* const memory = new IndexMemory(size_t{512} << 20);
  return *memory;
}

absl::StatusOr<std::shared_ptr<const FrameIndex>> IndexMemory::Get(const std::string& key,
                                                                   const Build& build,
                                                                   const Cancelled& cancelled,
                                                                   const FrameIndex* unwanted) {
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& found = entries_[key];
    if (found == nullptr) found = std::make_shared<Entry>();
    entry = found;
    if (entry->listed) latest_first_.splice(latest_first_.begin(), latest_first_, entry->use);
  }
  std::unique_lock<std::timed_mutex> building(entry->building, std::defer_lock);
  while (!building.try_lock_for(kBetweenLooks)) {
    if (IsCancelled(cancelled)) {
      return cancelled.Error("another call was making the frame index");
    }
  }
  if (entry->index != nullptr && entry->index.get() != unwanted) return entry->index;
  auto built = build();
  if (!built.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    // An index that could not be replaced stays, because others may still use it.
    const bool is_new = found != entries_.end() && found->second == entry && !entry->listed;
    if (is_new) entries_.erase(found);
    return std::move(built).status();
  }
  entry->index = std::make_shared<const FrameIndex>(*std::move(built));
  Keep(key, entry, entry->index->MemoryBytes() + sizeof(Entry) + 2 * key.size());
  return entry->index;
}

void IndexMemory::Keep(const std::string& key, const std::shared_ptr<Entry>& entry, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& found = entries_[key];
  if (found != entry) {
    // A caller who waited before failed and removed the entry. A later caller may have added
    // another.
    if (found != nullptr) return;
    found = entry;
  }
  if (entry->listed) {  // it is replaced
    latest_first_.erase(entry->use);
    held_ -= entry->bytes;
  }
  latest_first_.push_front(key);
  entry->use = latest_first_.begin();
  entry->listed = true;
  entry->bytes = bytes;
  held_ += bytes;
  // The newest index stays, however large. Otherwise each clip would build it again.
  while (held_ > capacity_ && latest_first_.size() > 1) {
    const auto oldest = entries_.find(latest_first_.back());
    held_ -= oldest->second->bytes;
    oldest->second->listed = false;  // a caller who rebuilds it may hold it
    entries_.erase(oldest);
    latest_first_.pop_back();
  }
}

}  // namespace nvc
