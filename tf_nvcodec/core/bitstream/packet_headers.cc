#include "tf_nvcodec/core/bitstream/packet_headers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/obu.h"
#include "tf_nvcodec/core/bitstream/vp9_superframe.h"
#include "tf_nvcodec/core/format/codec_table.h"

namespace nvc {
namespace {

// The least that one read fetches. A read costs more than the few bytes that a header needs.
constexpr size_t kReadBytes = 320;
// Slice headers take some 20 bytes, and more with weights for many references. After the weights,
// FFmpeg's parser only looks for commands that change picture order counts. The packets'
// description does not depend on those.
constexpr size_t kSliceBytes = 256;
// A frame header of AV1 holds up to seven warps and the parameters of the film grain.
constexpr size_t kAv1HeaderBytes = 384;
// Enough for codecs with all that we need in the first bytes of the packet or frame.
constexpr size_t kTagBytes = 64;

// Reads the whole packet, for a packet that the header reader does not understand.
void NeedAll(PacketParts* packet) {
  packet->DropBrief();
  packet->Need(0, packet->size());
}

// Adds the first `size` bytes of a NAL unit to the brief packet, with a length prefix.
void AddNalUnit(const uint8_t* unit, size_t size, size_t length_bytes, PacketParts* packet) {
  for (size_t i = length_bytes; i > 0; --i) {
    const auto byte = static_cast<uint8_t>(size >> (8 * (i - 1)));
    packet->AddToBrief(&byte, 1);
  }
  packet->AddToBrief(unit, size);
}

// `length_bytes` is the size of the prefix of each NAL unit. The brief packet has the same units,
// with the slices cut short.
void ReadNalHeaders(bool hevc, size_t length_bytes, PacketParts* packet) {
  size_t at = 0;
  while (at < packet->size()) {
    const size_t left = packet->size() - at;
    const uint8_t* const head = packet->Need(at, length_bytes + 1);
    if (head == nullptr) return;
    if (left <= length_bytes) return NeedAll(packet);
    size_t length = 0;
    for (size_t i = 0; i < length_bytes; ++i) length = (length << 8) | head[i];
    if (length == 0 || length > left - length_bytes) return NeedAll(packet);
    const int type = hevc ? (head[length_bytes] >> 1) & 63 : head[length_bytes] & 31;
    const bool slice = hevc ? type < 32 : type == 1 || type == 5;
    const size_t kept = slice ? std::min(length, kSliceBytes) : length;
    const uint8_t* const unit = packet->Need(at, length_bytes + kept);
    if (unit == nullptr) return;
    AddNalUnit(unit + length_bytes, kept, length_bytes, packet);
    // H264Inspector and FFmpeg's parser stop after the first slice of an H.264 picture.
    if (slice && !hevc) return;
    at += length_bytes + length;
  }
}

void ReadAv1Headers(PacketParts* packet) {
  for (size_t at = 0; at < packet->size();) {
    const uint8_t* const head = packet->Need(at, kLongestObuHeader);
    if (head == nullptr) return;
    Obu obu;
    if (!ReadObu(head, packet->size() - at, &obu)) return NeedAll(packet);
    const bool coded = obu.type == kObuTileGroup || obu.type == kObuFrame;
    packet->Need(at, coded ? std::min(obu.size, kAv1HeaderBytes) : obu.size);
    at += obu.size;
  }
}

// Reads what Vp9Inspector reads.
void ReadVp9Headers(PacketParts* packet) {
  packet->Need(0, kTagBytes);
  const size_t index = std::min(packet->size(), kLongestVp9Index);
  const uint8_t* const at = packet->Need(packet->size() - index, index);
  if (at == nullptr) return;
  size_t begin = 0;
  for (const size_t frame : Vp9FrameSizes(at + index, packet->size())) {
    if (begin > 0) packet->Need(begin, kTagBytes);
    begin += frame;
  }
}

}  // namespace

void PacketParts::Start(const ByteSource* source, int64_t offset, size_t size) {
  source_ = source;
  offset_ = offset;
  size_ = size;
  parts_.clear();
  bytes_.clear();
  brief_.clear();
  status_ = absl::OkStatus();
}

void PacketParts::AddToBrief(const uint8_t* bytes, size_t count) {
  brief_.insert(brief_.end(), bytes, bytes + count);
}

const uint8_t* PacketParts::Need(size_t begin, size_t count) {
  if (!status_.ok() || begin >= size_) return nullptr;
  const size_t end = begin + std::min(count, size_ - begin);
  // Bytes that start in the last part, or right after it, extend that part.
  if (parts_.empty() || begin < parts_.back().begin || begin > parts_.back().end()) {
    Part part;
    part.begin = begin;
    part.at = bytes_.size();
    parts_.push_back(part);
  }
  Part& last = parts_.back();
  if (last.end() < end) Read(std::min(std::max(end, last.end() + kReadBytes), size_));
  return status_.ok() ? bytes_.data() + last.at + (begin - last.begin) : nullptr;
}

void PacketParts::Read(size_t end) {
  Part& last = parts_.back();
  const size_t count = end - last.end();
  const int64_t from = offset_ + static_cast<int64_t>(last.end());
  bytes_.resize(bytes_.size() + count);
  const auto read = source_->ReadAt(from, bytes_.data() + bytes_.size() - count, count);
  if (!read.ok()) {
    status_ = read.status();
  } else if (*read < count) {
    status_ = absl::DataLossError(absl::StrCat("the file ends at byte ",
                                               from + static_cast<int64_t>(*read),
                                               ": it shrank while it was read"));
  }
  last.size += count;
}

void ReadNoHeaders(PacketParts* packet) {
  constexpr uint8_t kAny = 0;
  packet->AddToBrief(&kAny, 1);
}

HeaderReader HeaderReaderFor(const AVCodecParameters& codec) {
  switch (FactsOf(codec.codec_id).header_bytes) {
    case HeaderBytes::kWhole:
      break;
    case HeaderBytes::kFirstBytes:
      return [](PacketParts* packet) { packet->Need(0, kTagBytes); };
    case HeaderBytes::kNalUnits: {
      const bool hevc = codec.codec_id == AV_CODEC_ID_HEVC;
      const int length_bytes =
          NalLengthBytes(codec.extradata, static_cast<size_t>(codec.extradata_size), hevc);
      if (length_bytes == 0) return nullptr;
      return [hevc, length_bytes](PacketParts* packet) {
        ReadNalHeaders(hevc, static_cast<size_t>(length_bytes), packet);
      };
    }
    case HeaderBytes::kVp9Frames:
      return &ReadVp9Headers;
    case HeaderBytes::kAv1Units:
      return &ReadAv1Headers;
  }
  return nullptr;
}

}  // namespace nvc
