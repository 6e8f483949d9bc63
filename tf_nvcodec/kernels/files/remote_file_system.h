// TensorFlow's side of files on servers: a file system that only reads.
#ifndef TF_NVCODEC_KERNELS_FILES_REMOTE_FILE_SYSTEM_H_
#define TF_NVCODEC_KERNELS_FILES_REMOTE_FILE_SYSTEM_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/platform/file_statistics.h"
#include "tensorflow/core/platform/file_system.h"
#include "tf_nvcodec/core/remote/remote_file.h"

namespace nvc {

// What https:// and s3:// have in common. Whatever would write returns Unimplemented. It lives as
// long as the process.
class RemoteFileSystem : public ::tensorflow::FileSystem {
 public:
  using Token = ::tensorflow::TransactionToken;

  // Both must outlive the object. `upload` says how files get there.
  RemoteFileSystem(const RemoteStore* store, std::string upload);

  TF_USE_FILESYSTEM_METHODS_WITH_NO_TRANSACTION_SUPPORT;

  absl::Status NewRandomAccessFile(
      const std::string& name, Token* token,
      std::unique_ptr<::tensorflow::RandomAccessFile>* result) override;
  absl::Status NewReadOnlyMemoryRegionFromFile(
      const std::string& name, Token* token,
      std::unique_ptr<::tensorflow::ReadOnlyMemoryRegion>* result) override;
  absl::Status FileExists(const std::string& name, Token* token) override;
  absl::Status Stat(const std::string& name, Token* token,
                    ::tensorflow::FileStatistics* result) override;
  absl::Status GetFileSize(const std::string& name, Token* token, uint64_t* size) override;

  absl::Status NewWritableFile(const std::string& name, Token* token,
                               std::unique_ptr<::tensorflow::WritableFile>* result) override;
  absl::Status NewAppendableFile(const std::string& name, Token* token,
                                 std::unique_ptr<::tensorflow::WritableFile>* result) override;
  absl::Status DeleteFile(const std::string& name, Token* token) override;
  absl::Status CreateDir(const std::string& name, Token* token) override;
  absl::Status DeleteDir(const std::string& name, Token* token) override;
  absl::Status RenameFile(const std::string& name, const std::string& target,
                          Token* token) override;

 protected:
  const RemoteStore& store() const { return *store_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Looked {
    RemoteFacts facts;
    Clock::time_point at;
  };

  // Asks the server about the file, and keeps the answer for an opening that follows at once.
  absl::StatusOr<RemoteFacts> LookAt(const std::string& name);
  absl::Status CannotWrite(const std::string& name) const;

  const RemoteStore* const store_;
  const std::string upload_;
  std::mutex mutex_;
  std::map<std::string, Looked> looked_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_FILES_REMOTE_FILE_SYSTEM_H_
