// OBUs, the units that AV1 packets consist of (AV1 bitstream specification, 5.3).
#ifndef TF_NVCODEC_CORE_BITSTREAM_OBU_H_
#define TF_NVCODEC_CORE_BITSTREAM_OBU_H_

#include <cstddef>
#include <cstdint>

namespace nvc {

enum ObuType {
  kObuSequenceHeader = 1,
  kObuTemporalDelimiter = 2,
  kObuFrameHeader = 3,
  kObuTileGroup = 4,
  kObuMetadata = 5,
  kObuFrame = 6,
  kObuRedundantFrameHeader = 7,
  kObuTileList = 8,
  kObuPadding = 15,
};

// With an extension and a size of 8 bytes.
constexpr size_t kLongestObuHeader = 10;
// An av1C record, a container's description of a stream, has this many bytes before its OBUs.
constexpr int kAv1RecordBytes = 4;

struct Obu {
  int type = 0;
  size_t header = 0, size = 0;  // bytes: of its header, and with the header
};

// Reads the OBU at `at`, `left` bytes before the packet's end. It looks at the first
// kLongestObuHeader bytes only. Returns false at the end, and when the OBU goes on behind it.
inline bool ReadObu(const uint8_t* at, size_t left, Obu* obu) {
  if (left == 0) return false;
  obu->type = (at[0] >> 3) & 15;
  obu->header = (at[0] & 4) != 0 ? 2 : 1;  // 4: has an extension
  obu->size = left;
  if ((at[0] & 2) == 0) return obu->header <= left;  // 2: has a size, in leb128
  uint64_t size = 0;
  for (int shift = 0; shift < 56; shift += 7) {
    if (obu->header >= left) return false;
    const uint8_t byte = at[obu->header++];
    size |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) break;
  }
  obu->size = obu->header + static_cast<size_t>(size);
  return size <= left - obu->header;
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_OBU_H_
