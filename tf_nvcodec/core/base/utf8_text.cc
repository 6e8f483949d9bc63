#include "tf_nvcodec/core/base/utf8_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace nvc {
namespace {

// Returns the size of the character at the beginning of `bytes`, or 0 if there is none (Unicode,
// table 3-7: nothing longer than needed, no surrogates, nothing above U+10FFFF).
size_t CharacterSize(absl::string_view bytes) {
  const auto at = [bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return at(1) >= least && at(1) <= most ? size : 0;
}

}  // namespace

std::string Utf8Text(absl::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t size = CharacterSize(bytes);
    if (size == 0) {
      const auto byte = static_cast<uint8_t>(bytes[0]);
      absl::StrAppend(&text, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      absl::StrAppend(&text, bytes.substr(0, size));
    }
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

}  // namespace nvc
