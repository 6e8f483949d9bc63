// Sets the checksum of a packed clip that a test has changed: whoever writes the bytes can do so
// too.
#ifndef TF_NVCODEC_TESTS_CORE_TESTING_PACKED_CHECKSUM_H_
#define TF_NVCODEC_TESTS_CORE_TESTING_PACKED_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

extern "C" {
#include <libavutil/crc.h>
}

namespace nvc {

// It lies behind eight bytes, and is that of all bytes behind it.
inline void SetChecksum(std::string* packed) {
  constexpr size_t kAt = 8, kBehind = 12;
  if (packed->size() < kBehind) return;
  const uint32_t sum =
      av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), 0,
             reinterpret_cast<const uint8_t*>(packed->data()) + kBehind, packed->size() - kBehind);
  std::memcpy(&(*packed)[kAt], &sum, sizeof(sum));
}

}  // namespace nvc

#endif  // TF_NVCODEC_TESTS_CORE_TESTING_PACKED_CHECKSUM_H_
