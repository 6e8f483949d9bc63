#include "tf_nvcodec/kernels/files/remote_file_system.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/fork_lock.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// A file is opened right after its size was asked for, which then need not be asked for again.
constexpr std::chrono::seconds kFresh(2);

class OpenRemoteFile : public ::tensorflow::RandomAccessFile {
 public:
  OpenRemoteFile(const RemoteStore* store, std::string name, RemoteFacts facts)
      : store_(store), name_(std::move(name)), facts_(std::move(facts)) {}

  absl::Status Name(absl::string_view* result) const override {
    *result = name_;
    return absl::OkStatus();
  }

  absl::Status Read(::tensorflow::uint64 offset, size_t count, absl::string_view* result,
                    char* scratch) const override {
    *result = absl::string_view(scratch, 0);
    NVC_ASSIGN_OR_RETURN(
        const size_t read,
        ReadRemote(*store_, name_, facts_, static_cast<int64_t>(offset), count, scratch));
    *result = absl::string_view(scratch, read);
    return read == count ? absl::OkStatus()
                         : absl::OutOfRangeError(absl::StrCat(ShownName(name_), ": ends here"));
  }

 private:
  const RemoteStore* const store_;
  const std::string name_;
  const RemoteFacts facts_;
};

}  // namespace

RemoteFileSystem::RemoteFileSystem(const RemoteStore* store, std::string upload)
    : store_(store), upload_(std::move(upload)) {
  HoldInForks(&mutex_);
}

absl::StatusOr<RemoteFacts> RemoteFileSystem::LookAt(const std::string& name) {
  NVC_ASSIGN_OR_RETURN(RemoteFacts facts, Look(*store_, name));
  const Clock::time_point now = Clock::now();
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto file = looked_.begin(); file != looked_.end();) {
    file = now - file->second.at > kFresh ? looked_.erase(file) : std::next(file);
  }
  looked_[name] = {facts, now};
  return facts;
}

absl::Status RemoteFileSystem::NewRandomAccessFile(
    const std::string& name, Token* token,
    std::unique_ptr<::tensorflow::RandomAccessFile>* result) {
  std::optional<RemoteFacts> facts;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = looked_.find(name);
    if (found != looked_.end()) {
      if (Clock::now() - found->second.at <= kFresh) facts = std::move(found->second.facts);
      looked_.erase(found);
    }
  }
  if (!facts.has_value()) {
    NVC_ASSIGN_OR_RETURN(facts, Look(*store_, name));
  }
  *result = std::make_unique<OpenRemoteFile>(store_, name, *std::move(facts));
  return absl::OkStatus();
}

absl::Status RemoteFileSystem::NewReadOnlyMemoryRegionFromFile(
    const std::string& name, Token* token,
    std::unique_ptr<::tensorflow::ReadOnlyMemoryRegion>* result) {
  return absl::UnimplementedError(
      absl::StrCat(ShownName(name), ": can't be mapped into memory: download it first"));
}

absl::Status RemoteFileSystem::FileExists(const std::string& name, Token* token) {
  ::tensorflow::FileStatistics found;
  return Stat(name, token, &found);
}

absl::Status RemoteFileSystem::Stat(const std::string& name, Token* token,
                                    ::tensorflow::FileStatistics* result) {
  NVC_ASSIGN_OR_RETURN(const RemoteFacts facts, LookAt(name));
  *result = ::tensorflow::FileStatistics(facts.size, facts.mtime_ns, /*is_directory=*/false);
  return absl::OkStatus();
}

absl::Status RemoteFileSystem::GetFileSize(const std::string& name, Token* token, uint64_t* size) {
  NVC_ASSIGN_OR_RETURN(const RemoteFacts facts, LookAt(name));
  *size = static_cast<uint64_t>(facts.size);
  return absl::OkStatus();
}

absl::Status RemoteFileSystem::CannotWrite(const std::string& name) const {
  return absl::UnimplementedError(absl::StrCat(
      ShownName(name), ": tf_nvcodec only reads here: write to a local file, then ", upload_));
}

absl::Status RemoteFileSystem::NewWritableFile(
    const std::string& name, Token* token, std::unique_ptr<::tensorflow::WritableFile>* result) {
  return CannotWrite(name);
}

absl::Status RemoteFileSystem::NewAppendableFile(
    const std::string& name, Token* token, std::unique_ptr<::tensorflow::WritableFile>* result) {
  return CannotWrite(name);
}

absl::Status RemoteFileSystem::DeleteFile(const std::string& name, Token* token) {
  return CannotWrite(name);
}

absl::Status RemoteFileSystem::CreateDir(const std::string& name, Token* token) {
  return CannotWrite(name);
}

absl::Status RemoteFileSystem::DeleteDir(const std::string& name, Token* token) {
  return CannotWrite(name);
}

absl::Status RemoteFileSystem::RenameFile(const std::string& name, const std::string& target,
                                          Token* token) {
  return CannotWrite(name);
}

}  // namespace nvc
