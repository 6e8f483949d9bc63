// Superframes, the packets of VP9 that hold several frames (VP9 bitstream specification, annex B).
#ifndef TF_NVCODEC_CORE_BITSTREAM_VP9_SUPERFRAME_H_
#define TF_NVCODEC_CORE_BITSTREAM_VP9_SUPERFRAME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvc {

// A superframe ends with an index: a marker, up to 8 sizes of up to 4 bytes, the marker again.
constexpr size_t kLongestVp9Index = 34;

// Returns the sizes of the frames of a packet of `size` bytes that ends at `end`; `size` alone if
// it is no superframe. It looks at the last kLongestVp9Index bytes only.
inline std::vector<size_t> Vp9FrameSizes(const uint8_t* end, size_t size) {
  const uint8_t marker = end[-1];
  const size_t bytes = ((marker >> 3) & 3) + 1;
  const size_t count = (marker & 7) + 1;
  const size_t index = 2 + bytes * count;
  if ((marker & 0xE0) != 0xC0 || size < index || *(end - index) != marker) return {size};
  const uint8_t* at = end - index + 1;
  std::vector<size_t> sizes(count);
  for (size_t& frame : sizes) {
    for (size_t i = 0; i < bytes; ++i) frame |= static_cast<size_t>(*at++) << (8 * i);
  }
  return sizes;
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_VP9_SUPERFRAME_H_
