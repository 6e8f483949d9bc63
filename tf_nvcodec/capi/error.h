// Errors of the C API. Its functions return absl's status code as an int (0 means OK), and
// nvc_last_error() returns the message. No exception of ours crosses into C.
#ifndef TF_NVCODEC_CAPI_ERROR_H_
#define TF_NVCODEC_CAPI_ERROR_H_

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "tf_nvcodec/capi/export.h"

namespace nvc {

// Returns the code of `status` and keeps an error's message for nvc_last_error().
int Report(const absl::Status& status);

// Runs `call`, which returns a Status, and reports its result. Reports ResourceExhausted if memory
// runs out.
//
// This function is not noexcept. While the interpreter shuts down, Python up to 3.13 ends other
// threads once they want to run Python code. Such a thread may be in a Python function that reads
// bytes for us, and ending it unwinds the stack through this function.
template <typename Call>
int Guarded(Call&& call) {
  try {
    return Report(call());
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("out of memory"));
  } catch (const std::exception& error) {
    return Report(absl::InternalError(error.what()));
  }
}

}  // namespace nvc

// Returns the message of the last failed call on this thread, in UTF-8. Never null. Valid until the
// next failed call on this thread.
NVC_API const char* nvc_last_error();

#endif  // TF_NVCODEC_CAPI_ERROR_H_
