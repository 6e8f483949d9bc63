#include "tf_nvcodec/core/index/index_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/byte_coding.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/index/frame_index_io.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/crc.h>
#include <libavutil/md5.h>
}

namespace nvc {
namespace {

constexpr absl::string_view kMagic = "NVCINDEX";
constexpr size_t kCrcBytes = 4;
// How often a waiting caller checks whether it is cancelled.
constexpr std::chrono::milliseconds kBetweenLooks(20);

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

absl::Status Trouble(absl::string_view doing, const std::string& path) {
  const int error = errno;
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  if (error == EACCES || error == EPERM || error == EROFS) {
    code = absl::StatusCode::kPermissionDenied;
  } else if (error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE) {
    code = absl::StatusCode::kResourceExhausted;
  }
  return absl::Status(code, absl::StrCat("index cache: ", doing, " ", path, ": ",
                                         std::generic_category().message(error)));
}

absl::Status NotFound(const FileIdentity& file, absl::string_view why) {
  return absl::Status(absl::StatusCode::kNotFound,
                      absl::StrCat("no frame index for ", file.path, ": ", why));
}

std::string Crc(absl::string_view bytes) {
  const uint32_t crc = av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), UINT32_MAX,
                              reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::string out;
  for (size_t i = 0; i < kCrcBytes; ++i) out.push_back(static_cast<char>(crc >> (8 * i)));
  return out;
}

// An index is valid only if this is the same as when it was made.
std::string Header(const FileIdentity& file) {
  ByteWriter out;
  out.Bytes(kMagic);
  out.Unsigned(kFrameIndexFormat);
  out.Unsigned(avformat_version());
  out.Unsigned(avcodec_version());
  out.Bytes(file.path);
  out.Signed(file.size);
  out.Signed(file.mtime_ns);
  return out.Take();
}

bool ReadAll(const std::string& path, std::string* out) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  // A hole makes a file of any size cost nothing to whoever puts it here.
  if (status.st_size > std::numeric_limits<int>::max()) return false;
  out->resize(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < out->size()) {
    const ssize_t n = ::read(file.get(), &(*out)[done], out->size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

absl::Status MakeDirectory(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == path.size()) {
      return Trouble("can't make the folder", part);
    }
  }
  return absl::OkStatus();
}

// Writes under another name and then renames, so that whoever opens `path` sees all bytes.
absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  std::string name = absl::StrCat(path, ".XXXXXX");
  FileDescriptor file(::mkostemp(&name[0], O_CLOEXEC));  // mode 0600
  if (file.get() < 0) return Trouble("can't write", path);
  if (WriteAll(file.get(), bytes) && file.Close() && ::rename(name.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  const absl::Status status = Trouble("can't write", path);
  ::unlink(name.c_str());
  return status;
}

}  // namespace

IndexCache::IndexCache(std::string directory) : directory_(std::move(directory)) {}

std::string IndexCache::FileName(const std::string& path) const {
  uint8_t digest[16];
  av_md5_sum(digest, reinterpret_cast<const uint8_t*>(path.data()), path.size());
  std::string name = absl::StrCat(directory_, "/");
  for (const uint8_t byte : digest) {
    name.push_back("0123456789abcdef"[byte >> 4]);
    name.push_back("0123456789abcdef"[byte & 15]);
  }
  return absl::StrCat(name, ".nvci");
}

absl::StatusOr<FrameIndex> IndexCache::Load(const FileIdentity& file) const {
  std::string bytes;
  if (!ReadAll(FileName(file.path), &bytes)) return NotFound(file, "the cache has none");
  absl::string_view rest = bytes;
  const std::string header = Header(file);
  if (rest.substr(0, header.size()) != header) {
    return NotFound(
        file, "the stored index is for an earlier state of the file, or another version wrote it");
  }
  if (rest.size() < header.size() + kCrcBytes ||
      Crc(rest.substr(0, rest.size() - kCrcBytes)) != rest.substr(rest.size() - kCrcBytes)) {
    return NotFound(file, "the stored index is damaged");
  }
  rest.remove_suffix(kCrcBytes);
  rest.remove_prefix(header.size());
  auto index = ParseFrameIndex(rest);
  if (!index.ok()) return NotFound(file, index.status().message());
  for (const PacketEntry& packet : index->packets()) {
    if (packet.offset + packet.size > file.size) {
      return NotFound(file, "the stored index is damaged");
    }
  }
  return index;
}

absl::Status IndexCache::Store(const FileIdentity& file, const FrameIndex& index) const {
  NVC_ASSIGN_OR_RETURN(const std::string body, SerializeFrameIndex(index));
  std::string bytes = absl::StrCat(Header(file), body);
  bytes += Crc(bytes);
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
  Keep(key, entry, MemoryBytes(*entry->index) + sizeof(Entry) + 2 * key.size());
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
