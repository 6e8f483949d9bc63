// The boxes that MP4 and MOV files consist of (ISO/IEC 14496-12, 4.2).
#ifndef TF_NVCODEC_CORE_DEMUX_MP4_BOXES_H_
#define TF_NVCODEC_CORE_DEMUX_MP4_BOXES_H_

#include <cstdint>
#include <vector>

#include "tf_nvcodec/core/base/byte_source.h"

namespace nvc {

// Returns the four letters of a box as its `kind`.
constexpr uint32_t BoxKind(const char (&letters)[5]) {
  uint32_t kind = 0;
  for (int i = 0; i < 4; ++i) kind = kind << 8 | static_cast<uint8_t>(letters[i]);
  return kind;
}

struct Mp4Box {
  uint32_t kind = 0;
  int64_t body = 0, end = 0;  // in the file
  bool fits = false;          // false: its size is impossible, and `end` is where it must end
};

// Reads boxes and numbers, some hundred bytes of the file at a time.
class Mp4Reader {
 public:
  explicit Mp4Reader(const ByteSource& source) : source_(source) {}

  // Returns the box at `at`, which ends at `end` at the latest.
  Mp4Box Box(int64_t at, int64_t end) {
    Mp4Box box;
    uint64_t size = Number(at, 4);
    box.kind = static_cast<uint32_t>(Number(at + 4, 4));
    box.body = at + 8;
    if (size == 1) {
      size = Number(box.body, 8);
      box.body += 8;
    }
    const auto most = static_cast<uint64_t>(end - at);
    if (size == 0) size = most;  // up to the end of the file
    box.fits = size >= static_cast<uint64_t>(box.body - at) && size <= most;
    box.end = box.fits ? at + static_cast<int64_t>(size) : end;
    return box;
  }

  // Returns a big-endian number; 0 behind the end and where the source can't be read, which FFmpeg
  // finds out too.
  uint64_t Number(int64_t at, int bytes) {
    constexpr size_t kReadAtOnce = 512;
    const auto end = [this] { return seen_at_ + static_cast<int64_t>(seen_.size()); };
    if (at < seen_at_ || at + bytes > end()) {
      seen_.resize(kReadAtOnce);
      const auto read = source_.ReadAt(at, seen_.data(), seen_.size());
      seen_.resize(read.ok() ? *read : 0);
      seen_at_ = at;
      if (at + bytes > end()) return 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      value = value << 8 | seen_[static_cast<size_t>(at - seen_at_ + i)];
    }
    return value;
  }

 private:
  const ByteSource& source_;
  std::vector<uint8_t> seen_;  // bytes of the source from seen_at_ on
  int64_t seen_at_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_MP4_BOXES_H_
