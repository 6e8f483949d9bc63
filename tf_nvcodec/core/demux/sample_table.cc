#include "tf_nvcodec/core/demux/sample_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace nvc {
namespace {

// A top-level box of the file: ISO/IEC 14496-12, 4.2.
struct Box {
  int64_t body = 0, end = 0;
  char type[4] = {};
  bool Is(absl::string_view name) const { return name == absl::string_view(type, sizeof(type)); }
};

uint64_t BigEndian(const uint8_t* bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = (value << 8) | bytes[i];
  return value;
}

bool ReadBox(const ByteSource& source, int64_t at, Box* box) {
  constexpr size_t kHeader = 8, kLongHeader = 16;
  uint8_t bytes[kLongHeader];
  const auto read = source.ReadAt(at, bytes, sizeof(bytes));
  if (!read.ok() || *read < kHeader) return false;
  uint64_t size = BigEndian(bytes, 4);
  size_t header = kHeader;
  if (size == 1) {
    if (*read < kLongHeader) return false;
    size = BigEndian(bytes + kHeader, 8);
    header = kLongHeader;
  }
  const auto left = static_cast<uint64_t>(source.Size() - at);
  if (size == 0) size = left;  // up to the end of the file
  if (size < header || size > left) return false;
  std::memcpy(box->type, bytes + 4, sizeof(box->type));
  box->body = at + static_cast<int64_t>(header);
  box->end = at + static_cast<int64_t>(size);
  return true;
}

}  // namespace

SampleTable::SampleTable(const AVFormatContext& format, int stream, const ByteSource& source) {
  if (!absl::StrContains(format.iformat->name, "mov")) return;
  if (!Collect(format, stream) || !IsInsideMediaData(source)) samples_.clear();
}

bool SampleTable::Collect(const AVFormatContext& format, int stream) {
  for (int i = 0; i < static_cast<int>(format.nb_streams); ++i) {
    AVStream* const of = format.streams[i];
    const int count = avformat_index_get_entries_count(of);
    for (int k = 0; k < count; ++k) {
      const AVIndexEntry* const entry = avformat_index_get_entry(of, k);
      if (entry == nullptr || entry->pos < 0 || entry->size < 0) return false;
      if (entry->size == 0) continue;
      if (entry->pos > INT64_MAX - entry->size) return false;
      Sample sample;
      sample.offset = entry->pos;
      sample.size = entry->size;
      sample.wanted = i == stream;
      samples_.push_back(sample);
    }
  }
  const auto key = [](const Sample& s) { return std::make_tuple(s.offset, s.size, s.wanted); };
  std::sort(samples_.begin(), samples_.end(),
            [&](const Sample& a, const Sample& b) { return key(a) < key(b); });
  // Edit lists may show a sample twice.
  const auto same = [&](const Sample& a, const Sample& b) { return key(a) == key(b); };
  samples_.erase(std::unique(samples_.begin(), samples_.end(), same), samples_.end());
  for (size_t i = 1; i < samples_.size(); ++i) {
    if (samples_[i].offset < samples_[i - 1].end()) return false;
  }
  return true;
}

bool SampleTable::IsInsideMediaData(const ByteSource& source) const {
  constexpr int kMostBoxes = 1000;
  auto next = samples_.begin();
  int64_t at = 0;
  for (int boxes = 0; at < source.Size() && next != samples_.end(); ++boxes) {
    Box box;
    if (boxes == kMostBoxes || !ReadBox(source, at, &box)) return false;
    // Fragments have further tables between the samples.
    if (box.Is("moof") || box.Is("sidx")) return false;
    if (box.Is("mdat")) {
      while (next != samples_.end() && next->offset >= box.body && next->end() <= box.end) ++next;
    }
    at = box.end;
  }
  return next == samples_.end();
}

int64_t SampleTable::MeanSize() const {
  int64_t bytes = 0, count = 0;
  for (const Sample& sample : samples_) {
    if (!sample.wanted) continue;
    bytes += sample.size;
    ++count;
  }
  return count > 0 ? bytes / count : 0;
}

std::vector<SampleTable::Sample>::const_iterator SampleTable::After(int64_t offset) const {
  return std::upper_bound(samples_.begin(), samples_.end(), offset,
                          [](int64_t at, const Sample& sample) { return at < sample.end(); });
}

const SampleTable::Sample* SampleTable::Find(int64_t offset) const {
  const auto sample = After(offset);
  const bool found = sample != samples_.end() && sample->offset == offset && sample->wanted;
  return found ? &*sample : nullptr;
}

}  // namespace nvc
