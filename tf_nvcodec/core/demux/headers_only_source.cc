#include "tf_nvcodec/core/demux/headers_only_source.h"

#include <algorithm>
#include <cstring>

#include "tf_nvcodec/core/base/status.h"

namespace nvc {

absl::StatusOr<size_t> HeadersOnlySource::ReadAt(int64_t offset, void* out, size_t count) const {
  if (offset < 0 || offset >= Size()) return 0;
  const int64_t end = offset + std::min<int64_t>(static_cast<int64_t>(count), Size() - offset);
  auto* const bytes = static_cast<uint8_t*>(out);
  auto sample = table_.After(offset);
  for (int64_t at = offset; at < end;) {
    // Bytes between samples are read as they are.
    const int64_t gap_end = sample == table_.samples().end() ? end : std::min(sample->offset, end);
    if (at < gap_end) {
      const auto gap = static_cast<size_t>(gap_end - at);
      NVC_ASSIGN_OR_RETURN(const size_t read, source_.ReadAt(at, bytes + (at - offset), gap));
      if (read < gap) return static_cast<size_t>(at - offset) + read;
      at = gap_end;
      continue;
    }
    const int64_t part_end = std::min(sample->end(), end);
    if (!sample->wanted) {
      std::memset(bytes + (at - offset), 0, static_cast<size_t>(part_end - at));
    } else {
      NVC_RETURN_IF_ERROR(ReadHeaders(*sample));
      if (!parts_.brief().empty()) {
        return static_cast<size_t>(at - offset) + CopyBrief(at, part_end, bytes + (at - offset));
      }
      CopyParts(at, part_end, bytes + (at - offset));
    }
    at = part_end;
    ++sample;
  }
  return static_cast<size_t>(end - offset);
}

absl::Status HeadersOnlySource::ReadHeaders(const SampleTable::Sample& sample) const {
  if (parts_.offset() != sample.offset) {
    parts_.Start(&source_, sample.offset, static_cast<size_t>(sample.size));
    read_headers_(&parts_);
  }
  return parts_.status();
}

size_t HeadersOnlySource::CopyBrief(int64_t begin, int64_t end, uint8_t* out) const {
  const auto& brief = parts_.brief();
  const auto from = static_cast<size_t>(begin - parts_.offset());
  if (from >= brief.size()) return 0;
  const size_t count = std::min(brief.size() - from, static_cast<size_t>(end - begin));
  std::memcpy(out, brief.data() + from, count);
  return count;
}

void HeadersOnlySource::CopyParts(int64_t begin, int64_t end, uint8_t* out) const {
  std::memset(out, 0, static_cast<size_t>(end - begin));
  for (const PacketParts::Part& part : parts_.parts()) {
    const int64_t part_begin = parts_.offset() + static_cast<int64_t>(part.begin);
    const int64_t from = std::max(part_begin, begin);
    const int64_t to = std::min(part_begin + static_cast<int64_t>(part.size), end);
    if (from >= to) continue;
    std::memcpy(out + (from - begin), parts_.bytes() + part.at + (from - part_begin),
                static_cast<size_t>(to - from));
  }
}

}  // namespace nvc
