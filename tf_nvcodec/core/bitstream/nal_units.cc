#include "tf_nvcodec/core/bitstream/nal_units.h"

#include <algorithm>
#include <cstring>

namespace nvc {
namespace {

// Returns the first start code 00 00 01 at or after `at`, or `end`.
const uint8_t* FindStartCode(const uint8_t* at, const uint8_t* end) {
  while (end - at >= 3) {
    const auto* one = static_cast<const uint8_t*>(std::memchr(at + 2, 1, end - at - 2));
    if (one == nullptr) return end;
    if (one[-1] == 0 && one[-2] == 0) return one - 2;
    at = one - 1;
  }
  return end;
}

}  // namespace

NalWalker::NalWalker(const uint8_t* data, size_t size, int length_bytes)
    : at_(data), end_(data + size), length_bytes_(length_bytes) {
  if (length_bytes_ == 0) at_ = FindStartCode(at_, end_);
}

bool NalWalker::Next(NalUnit* nal) {
  if (length_bytes_ == 0) {
    if (end_ - at_ < 4) return false;
    const uint8_t* begin = at_ + 3;
    at_ = FindStartCode(begin, end_);
    *nal = {begin, static_cast<size_t>(at_ - begin)};
    return nal->size > 0;
  }
  if (end_ - at_ <= length_bytes_) return false;
  size_t length = 0;
  for (int i = 0; i < length_bytes_; ++i) length = (length << 8) | at_[i];
  at_ += length_bytes_;
  if (length == 0 || length > static_cast<size_t>(end_ - at_)) {
    damaged_ = true;
    return false;
  }
  *nal = {at_, length};
  at_ += length;
  return true;
}

std::vector<uint8_t> NalPayload(const NalUnit& nal, size_t header_bytes, size_t limit) {
  std::vector<uint8_t> out;
  const size_t size = std::min(nal.size, limit);
  out.reserve(size);
  int zeros = 0;
  for (size_t i = header_bytes; i < size; ++i) {
    if (zeros >= 2 && nal.data[i] == 3) {
      zeros = 0;
      continue;
    }
    zeros = nal.data[i] == 0 ? zeros + 1 : 0;
    out.push_back(nal.data[i]);
  }
  return out;
}

int NalLengthBytes(const uint8_t* extradata, size_t size, bool hevc) {
  // avcC and hvcC start with configurationVersion 1; some writers of hvcC put 0. Annex B starts
  // with zeros.
  const size_t at = hevc ? 21 : 4;
  if (extradata == nullptr || size <= at) return 0;
  if (extradata[0] == 0 && extradata[1] == 0 && (extradata[2] == 1 || extradata[2] == 0)) return 0;
  return (extradata[at] & 3) + 1;
}

}  // namespace nvc
