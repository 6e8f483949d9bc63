// Reads single bits, integers and Exp-Golomb codes from the header bytes of a packet.
#ifndef TF_NVCODEC_CORE_BITSTREAM_BIT_READER_H_
#define TF_NVCODEC_CORE_BITSTREAM_BIT_READER_H_

#include <cstddef>
#include <cstdint>

namespace nvc {

// Reading past the end returns zeros and makes `overrun()` true, so that a caller can check once
// after it has read a whole header.
class BitReader {
 public:
  BitReader(const uint8_t* data, size_t size) : data_(data), bits_(size * 8) {}

  uint32_t Read(int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i) value = (value << 1) | Bit();
    return value;
  }
  bool Flag() { return Bit() != 0; }
  void Skip(int count) { position_ += static_cast<size_t>(count); }

  // ue(v) of H.264 and HEVC (clause 9.1 of H.264, 9.2 of HEVC). UINT32_MAX for a code that is too
  // long.
  uint32_t UnsignedGolomb() {
    int zeros = 0;
    while (zeros < 32 && !overrun() && Bit() == 0) ++zeros;
    return zeros >= 32 ? UINT32_MAX : (uint32_t{1} << zeros) - 1 + Read(zeros);
  }

  bool overrun() const { return position_ > bits_; }
  size_t bits_left() const { return overrun() ? 0 : bits_ - position_; }

 private:
  uint32_t Bit() {
    const size_t at = position_++;
    return at < bits_ ? (data_[at >> 3] >> (7 - (at & 7))) & 1u : 0u;
  }

  const uint8_t* data_;
  size_t bits_;
  size_t position_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BITSTREAM_BIT_READER_H_
