// Where encoded bytes come from: memory, or a file that is read by range.
#ifndef TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_
#define TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nvc {

// Thread-safe: several decoders read packets of one source at the same time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t Size() const = 0;
  // Can only be read once, from its beginning to its end, as a live stream; Size is what has been
  // read so far.
  virtual bool IsSequential() const { return false; }
  // Reads up to `count` bytes at `offset`; fewer only at the end, 0 past it.
  virtual absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const = 0;
  // Bytes that come in the time a read takes to begin. What lies closer together than this is
  // better read in one piece: nothing for a local file, much where each read is a request over a
  // network.
  virtual int64_t ReadOverhead() const { return 0; }
};

// Borrows `contents`, which must outlive the source.
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
  // Measured: less than this is copied before it is decided what not to copy.
  int64_t ReadOverhead() const override { return 2 << 10; }

 private:
  absl::string_view contents_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_BYTE_SOURCE_H_
