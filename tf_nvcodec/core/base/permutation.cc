#include "tf_nvcodec/core/base/permutation.h"

namespace nvc {

uint64_t HashMix(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15ull * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t ScaleToBound(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

Permutation::Permutation(uint64_t size, uint64_t seed) : size_(size) {
  while (half_bits_ < 32 && (uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  for (std::size_t round = 0; round < keys_.size(); ++round) keys_[round] = HashMix(seed, round);
}

uint64_t Permutation::operator()(uint64_t i) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = i >> half_bits_, right = i & mask;
    for (const uint64_t key : keys_) {
      const uint64_t next = left ^ (HashMix(key, right) & mask);
      left = right;
      right = next;
    }
    i = (left << half_bits_) | right;
  } while (i >= size_);
  return i;
}

}  // namespace nvc
