// VC-1's data units (SMPTE 421M) of bits that are written out.
#ifndef TESTS_NV_VC1_UNITS_H_
#define TESTS_NV_VC1_UNITS_H_

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

namespace nvc {

using Vc1Bytes = std::vector<uint8_t>;

// A unit with a start code of these bits; blanks are none. Where two zeros would make a start code
// out of the payload, a 3 keeps them apart (annex E).
inline Vc1Bytes Vc1Unit(uint8_t code, std::string bits) {
  bits.erase(std::remove(bits.begin(), bits.end(), ' '), bits.end());
  bits += '1';
  bits.resize((bits.size() + 7) / 8 * 8, '0');
  Vc1Bytes unit = {0, 0, 1, code};
  int zeros = 0;
  for (size_t i = 0; i < bits.size(); i += 8) {
    const auto byte = static_cast<uint8_t>(std::stoi(bits.substr(i, 8), nullptr, 2));
    if (zeros >= 2 && byte <= 3) {
      unit.push_back(3);
      zeros = 0;
    }
    zeros = byte == 0 ? zeros + 1 : 0;
    unit.push_back(byte);
  }
  return unit;
}

template <int kBits>
std::string Vc1Number(int value) {
  return std::bitset<kBits>(static_cast<unsigned long long>(value)).to_string();
}

}  // namespace nvc

#endif  // TESTS_NV_VC1_UNITS_H_
