// Turns bytes, such as a file's name, into text for messages.
#ifndef TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_
#define TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// Returns `bytes` with each byte that belongs to no UTF-8 character written like "\xff". Python's
// "backslashreplace", which the Python layer uses for names, does the same. Without this, Python
// raises UnicodeDecodeError for such a message, which hides the message.
std::string Utf8Text(absl::string_view bytes);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_
