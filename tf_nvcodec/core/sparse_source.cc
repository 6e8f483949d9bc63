#include "tf_nvcodec/core/sparse_source.h"

#include <algorithm>
#include <cstring>

#include "tf_nvcodec/core/status.h"

namespace nvc {

absl::StatusOr<size_t> SparseSource::ReadAt(int64_t offset, void* out, size_t count) const {
  if (offset < 0 || offset >= Size()) return 0;
  const int64_t end = offset + std::min<int64_t>(static_cast<int64_t>(count), Size() - offset);
  auto* const bytes = static_cast<uint8_t*>(out);
  auto sample = table_.After(offset);
  for (int64_t at = offset; at < end;) {
    // Up to the next sample the file is read as it is.
    const int64_t gap_end = sample == table_.samples().end() ? end : std::min(sample->offset, end);
    if (at < gap_end) {
      const auto gap = static_cast<size_t>(gap_end - at);
      NVC_ASSIGN_OR_RETURN(const size_t read, source_.ReadAt(at, bytes + (at - offset), gap));
      if (read < gap) return static_cast<size_t>(at - offset) + read;
      at = gap_end;
      continue;
    }
    const int64_t begin = at;
    at = std::min(sample->end(), end);
    std::memset(bytes + (begin - offset), 0, static_cast<size_t>(at - begin));
    if (sample->wanted) {
      if (parts_.offset() != sample->offset) {
        parts_.Start(&source_, sample->offset, static_cast<size_t>(sample->size));
        outline_(&parts_);
      }
      if (!parts_.status().ok()) return parts_.status();
      for (const PacketParts::Part& part : parts_.parts()) {
        const int64_t part_begin = sample->offset + static_cast<int64_t>(part.begin);
        const int64_t from = std::max(part_begin, begin);
        const int64_t to = std::min(part_begin + static_cast<int64_t>(part.size), at);
        if (from >= to) continue;
        std::memcpy(bytes + (from - offset), parts_.bytes() + part.at + (from - part_begin),
                    static_cast<size_t>(to - from));
      }
    }
    ++sample;
  }
  return static_cast<size_t>(end - offset);
}

}  // namespace nvc
