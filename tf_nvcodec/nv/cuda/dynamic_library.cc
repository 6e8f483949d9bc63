#include "tf_nvcodec/nv/cuda/dynamic_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace nvc {

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(const std::string& name,
                                                    absl::string_view cure) {
  // Never closed: drivers start threads that outlive any of our objects.
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", name, " (", dlerror(), "). ", cure));
  }
  return DynamicLibrary(name, handle);
}

absl::StatusOr<void*> DynamicLibrary::Find(const char* symbol) const {
  void* address = dlsym(handle_, symbol);
  if (address == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_, " has no ", symbol, ": the NVIDIA driver is too old; update it"));
  }
  return address;
}

}  // namespace nvc
