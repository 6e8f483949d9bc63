// Defines where encoded bytes come from: memory, or a file that is read by range.
#ifndef TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_
#define TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// Thread-safe: several decoders read packets from one source at the same time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t Size() const = 0;
  // True for a source that can only be read once from beginning to end, such as a live stream. Its
  // Size is the number of bytes read so far.
  virtual bool IsSequential() const { return false; }
  // Reads up to `count` bytes at `offset`, and returns how many: fewer only at the end, 0 past it.
  virtual absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const = 0;
  // Returns how many bytes the source delivers in the time that a read takes to begin. Ranges
  // closer together than this are better read in one piece. This is 0 if a read begins at once, and
  // large if each read is a request over a network.
  virtual int64_t ReadOverhead() const { return 0; }
  // Says that the bytes [begin, end) will be read soon, most of them and forward. A source for
  // which each read is a request then asks for these bytes, and for no others.
  virtual void WillRead(int64_t begin, int64_t end) const {}
};

// Bytes in memory. `contents` is not copied and must outlive the source.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(absl::string_view contents) : contents_(contents) {}

  int64_t Size() const override { return static_cast<int64_t>(contents_.size()); }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    if (offset < 0 || offset >= Size()) return 0;
    const size_t available = contents_.size() - static_cast<size_t>(offset);
    const size_t n = std::min(count, available);
    std::memcpy(out, contents_.data() + offset, n);
    return n;
  }
  // Measured: copying fewer bytes than this is faster than deciding which ones to leave out.
  int64_t ReadOverhead() const override { return 2 << 10; }

 private:
  absl::string_view contents_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_
