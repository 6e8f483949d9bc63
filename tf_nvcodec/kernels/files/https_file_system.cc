// https:// for TensorFlow.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/platform/env.h"
#include "tf_nvcodec/core/remote/https_store.h"
#include "tf_nvcodec/kernels/files/remote_file_system.h"

namespace nvc {
namespace {

const HttpsStore& Https() {
  static const auto* const store = new HttpsStore;
  return *store;
}

class HttpsFileSystem : public RemoteFileSystem {
 public:
  HttpsFileSystem()
      : RemoteFileSystem(&Https(), "upload it by your server's own means, such as rsync") {}

  TF_USE_FILESYSTEM_METHODS_WITH_NO_TRANSACTION_SUPPORT;

  absl::Status GetChildren(const std::string& name, Token* token,
                           std::vector<std::string>* result) override {
    return NoLists(name);
  }

  // A "?" in an address begins its query, so only "*" is taken for a pattern.
  absl::Status GetMatchingPaths(const std::string& pattern, Token* token,
                                std::vector<std::string>* result) override {
    result->clear();
    if (pattern.find('*') != pattern.npos) return NoLists(pattern);
    const absl::Status found = FileExists(pattern, token);
    if (absl::IsNotFound(found)) return absl::OkStatus();
    if (found.ok()) result->push_back(pattern);
    return found;
  }

 private:
  static absl::Status NoLists(const std::string& name) {
    return absl::UnimplementedError(
        absl::StrCat(ShownName(name),
                     ": web servers do not list their files: pass the addresses, "
                     "[\"https://host/1.mp4\", ...]"));
  }
};

// If another library, such as tensorflow-io, has registered the scheme, its file system stays.
REGISTER_FILE_SYSTEM("https", HttpsFileSystem);

}  // namespace
}  // namespace nvc
