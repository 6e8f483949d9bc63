// Finds the NAL units of an H.264 or HEVC packet, in Annex B form or with length prefixes.
#ifndef TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_
#define TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvc {

struct NalUnit {
  const uint8_t* data = nullptr;  // starts with the header; emulation prevention is still in
  size_t size = 0;
};

class NalWalker {
 public:
  // `length_bytes` is the size of the length prefix (avcC, hvcC), or 0 for Annex B start codes.
  NalWalker(const uint8_t* data, size_t size, int length_bytes);
  // Reads the next unit. Returns false at the end, and at a length that does not fit in the packet;
  // in the latter case `damaged()` is true.
  bool Next(NalUnit* nal);
  bool damaged() const { return damaged_; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  int length_bytes_;
  bool damaged_ = false;
};

// Returns the payload that follows a header of `header_bytes`, without the emulation prevention
// bytes (H.264, 7.4.1.1; HEVC, 7.4.2.1). Reads the first `limit` bytes of the unit only.
std::vector<uint8_t> NalPayload(const NalUnit& nal, size_t header_bytes, size_t limit);

// Returns the size in bytes of the length prefix that the extradata (avcC or hvcC) declares, or 0
// for Annex B.
int NalLengthBytes(const uint8_t* extradata, size_t size, bool hevc);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_
