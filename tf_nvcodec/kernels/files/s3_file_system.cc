// s3:// for TensorFlow. A folder is what keys have before a "/".
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/env.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/remote/s3_store.h"
#include "tf_nvcodec/kernels/files/remote_file_system.h"

namespace nvc {
namespace {

using ::tensorflow::FileStatistics;

const S3Store& S3() {
  static const auto* const store = new S3Store;
  return *store;
}

// Returns the folder that the name stands for: its key is empty or ends with "/".
absl::StatusOr<S3Name> FolderOf(const std::string& name) {
  NVC_ASSIGN_OR_RETURN(S3Name folder, ParseS3Name(name));
  if (!folder.key.empty() && !absl::EndsWith(folder.key, "/")) folder.key += '/';
  return folder;
}

class S3FileSystem : public RemoteFileSystem {
 public:
  S3FileSystem() : RemoteFileSystem(&S3(), "upload it, such as by aws s3 cp") {}

  TF_USE_FILESYSTEM_METHODS_WITH_NO_TRANSACTION_SUPPORT;

  absl::Status Stat(const std::string& name, Token* token, FileStatistics* result) override {
    NVC_ASSIGN_OR_RETURN(const S3Name folder, FolderOf(name));
    const bool may_be_file = !folder.key.empty() && !absl::EndsWith(name, "/");
    absl::Status found = may_be_file ? RemoteFileSystem::Stat(name, token, result)
                                     : absl::NotFoundError(absl::StrCat(name, ": no such folder"));
    if (!absl::IsNotFound(found)) return found;
    bool has_objects = false;
    const absl::Status listed = S3().List(folder, /*by_folder=*/true, [&](const S3Page& page) {
      has_objects = !page.objects.empty() || !page.folders.empty();
      return false;
    });
    if (!listed.ok() && !may_be_file) return listed;
    // Reading files does not need the permission to list them. A bucket may be empty.
    if (!listed.ok() || (!has_objects && !folder.key.empty())) return found;
    *result = FileStatistics(0, 0, /*is_directory=*/true);
    return absl::OkStatus();
  }

  absl::Status GetChildren(const std::string& name, Token* token,
                           std::vector<std::string>* result) override {
    result->clear();
    NVC_ASSIGN_OR_RETURN(const S3Name folder, FolderOf(name));
    NVC_RETURN_IF_ERROR(S3().List(folder, /*by_folder=*/true, [&](const S3Page& page) {
      for (const S3Page::Object& object : page.objects) {
        // Some programs make an empty object that stands for the folder itself.
        if (object.key != folder.key) result->push_back(object.key.substr(folder.key.size()));
      }
      for (const std::string& inner : page.folders) {
        result->push_back(inner.substr(folder.key.size(), inner.size() - folder.key.size() - 1));
      }
      return true;
    }));
    if (!result->empty()) return absl::OkStatus();
    FileStatistics found;
    NVC_RETURN_IF_ERROR(Stat(name, token, &found));
    return found.is_directory
               ? absl::OkStatus()
               : absl::FailedPreconditionError(absl::StrCat(name, ": is a file, not a folder"));
  }

  // Lists the keys that begin as the pattern does, instead of each folder by itself.
  absl::Status GetMatchingPaths(const std::string& pattern, Token* token,
                                std::vector<std::string>* result) override {
    result->clear();
    NVC_ASSIGN_OR_RETURN(S3Name begin, ParseS3Name(pattern));
    const size_t special = begin.key.find_first_of("*?[\\");
    if (special == begin.key.npos) {
      const absl::Status found = FileExists(pattern, token);
      if (found.ok()) result->push_back(pattern);
      return absl::IsNotFound(found) ? absl::OkStatus() : found;
    }
    const bool by_folder = begin.key.find('/', special) == begin.key.npos;
    begin.key.resize(special);
    const std::string bucket = absl::StrCat("s3://", begin.bucket, "/");
    const auto take = [&](std::string name) {
      if (Match(name, pattern)) result->push_back(std::move(name));
    };
    return S3().List(begin, by_folder, [&](const S3Page& page) {
      for (const S3Page::Object& object : page.objects) take(absl::StrCat(bucket, object.key));
      for (const std::string& folder : page.folders) {
        take(absl::StrCat(bucket, folder.substr(0, folder.size() - 1)));
      }
      return true;
    });
  }
};

// If another library, such as tensorflow-io, has registered the scheme, its file system stays.
REGISTER_FILE_SYSTEM("s3", S3FileSystem);

}  // namespace
}  // namespace nvc
