// A shared library opened by name at run time and kept for the life of the process.
#ifndef TF_NVCODEC_NV_CUDA_DYNAMIC_LIBRARY_H_
#define TF_NVCODEC_NV_CUDA_DYNAMIC_LIBRARY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

class DynamicLibrary {
 public:
  // FailedPrecondition with the library's name, the loader's own words and `cure`.
  static absl::StatusOr<DynamicLibrary> Open(const std::string& name, absl::string_view cure);

  // FailedPrecondition when the library has no such symbol, as an old driver would not.
  template <typename Function>
  absl::Status Resolve(const char* symbol, Function** function) const {
    absl::StatusOr<void*> address = Find(symbol);
    if (!address.ok()) return address.status();
    *function = reinterpret_cast<Function*>(*address);
    return absl::OkStatus();
  }

  const std::string& name() const { return name_; }

 private:
  DynamicLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  absl::StatusOr<void*> Find(const char* symbol) const;

  std::string name_;
  void* handle_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_NV_CUDA_DYNAMIC_LIBRARY_H_
