#include "tf_nvcodec/capi/error.h"

#include <string>

namespace nvc {
namespace {

std::string& LastError() {
  thread_local std::string message;
  return message;
}

}  // namespace

int Report(const absl::Status& status) {
  if (!status.ok()) LastError().assign(status.message().data(), status.message().size());
  return static_cast<int>(status.code());
}

}  // namespace nvc

const char* nvc_last_error() { return nvc::LastError().c_str(); }
