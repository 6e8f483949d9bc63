// Bytes, such as a file's name, as text for messages.
#ifndef TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_
#define TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

// The bytes, with those that are of no UTF-8 character as "\xff": Python raises UnicodeDecodeError
// for a message that has any, which hides what the message says. As Python's "backslashreplace",
// which the Python layer shows names by.
std::string Utf8Text(absl::string_view bytes);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_UTF8_TEXT_H_
