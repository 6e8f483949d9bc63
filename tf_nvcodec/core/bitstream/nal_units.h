// Walks the NAL units of an H.264 or HEVC packet, in Annex B or length-prefixed form.
#ifndef TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_
#define TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvc {

struct NalUnit {
  const uint8_t* data = nullptr;  // header included, emulation prevention still in
  size_t size = 0;
};

class NalWalker {
 public:
  // `length_bytes`: size of the length prefix (avcC, hvcC), 0 for Annex B start codes.
  NalWalker(const uint8_t* data, size_t size, int length_bytes);
  // False at the end or at a length that does not fit; then `damaged()` tells which.
  bool Next(NalUnit* nal);
  bool damaged() const { return damaged_; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  int length_bytes_;
  bool damaged_ = false;
};

// The payload after a header of `header_bytes`, of the first `limit` bytes of the unit, with
// emulation prevention (H.264's 7.4.1.1, HEVC's 7.4.2.1) taken out.
std::vector<uint8_t> NalPayload(const NalUnit& nal, size_t header_bytes, size_t limit);

// The length prefix that a stream's extradata declares: 0 when it is Annex B.
int NalLengthBytes(const uint8_t* extradata, size_t size, bool hevc);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_NAL_UNITS_H_
