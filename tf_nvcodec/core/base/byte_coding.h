// Writes and reads the fields of small files with a variable-length code. Reading is safe on any
// bytes.
#ifndef TF_NVCODEC_CORE_BASE_BYTE_CODING_H_
#define TF_NVCODEC_CORE_BASE_BYTE_CODING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace nvc {

class ByteWriter {
 public:
  void Unsigned(uint64_t value) {  // 7 bits per byte, the lowest first
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  // Numbers with small magnitudes take few bytes.
  void Signed(int64_t value) {
    Unsigned((static_cast<uint64_t>(value) << 1) ^ (value < 0 ? ~uint64_t{0} : 0));
  }
  // Writes `value` as its difference to `from`. The difference wraps around, so that every pair of
  // values has one.
  void Difference(int64_t value, int64_t from) {
    Signed(static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(from)));
  }
  void Double(double value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    out_.append(bytes, sizeof(value));
  }
  void Bytes(absl::string_view bytes) {
    Unsigned(bytes.size());
    out_.append(bytes.data(), bytes.size());
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// After the first field that is missing or invalid, ok() is false and every further field reads as
// zero (or as `lowest`, see Between).
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : left_(bytes) {}

  uint64_t Unsigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) return Fail();
      const auto byte = static_cast<uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  int64_t Signed() {
    const uint64_t value = Unsigned();
    return static_cast<int64_t>((value >> 1) ^ ((value & 1) != 0 ? ~uint64_t{0} : 0));
  }
  int64_t Difference(int64_t from) {
    return static_cast<int64_t>(static_cast<uint64_t>(from) + static_cast<uint64_t>(Signed()));
  }
  double Double() {
    double value = 0;
    if (left_.size() < sizeof(value)) {
      Fail();
      return 0;
    }
    std::memcpy(&value, left_.data(), sizeof(value));
    left_.remove_prefix(sizeof(value));
    return value;
  }
  absl::string_view Bytes() {
    const uint64_t size = Unsigned();
    if (size > left_.size()) {
      Fail();
      return {};
    }
    const absl::string_view bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return bytes;
  }
  // Reads a number in [lowest, highest]. Any other number is a failure and reads as `lowest`.
  int64_t Between(int64_t lowest, int64_t highest) {
    const int64_t value = Signed();
    if (value >= lowest && value <= highest) return value;
    Fail();
    return lowest;
  }

  uint64_t Fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  bool ok() const { return ok_; }
  size_t left() const { return left_.size(); }

 private:
  absl::string_view left_;
  bool ok_ = true;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_BYTE_CODING_H_
