#include "tf_nvcodec/core/demux/sample_table.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "tf_nvcodec/core/demux/mp4_boxes.h"

namespace nvc {

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
  Mp4Reader reader(source);
  auto next = samples_.begin();
  int64_t at = 0;
  for (int boxes = 0; at < source.Size() && next != samples_.end(); ++boxes) {
    const Mp4Box box = reader.Box(at, source.Size());
    if (boxes == kMostBoxes || !box.fits) return false;
    // Fragments have further tables between the samples.
    if (box.kind == BoxKind("moof") || box.kind == BoxKind("sidx")) return false;
    if (box.kind == BoxKind("mdat")) {
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
