// Computes any place of a random order of [0, size), in constant memory. So a position in a shuffle
// is saved and restored as one number.
#ifndef TF_NVCODEC_CORE_BASE_PERMUTATION_H_
#define TF_NVCODEC_CORE_BASE_PERMUTATION_H_

#include <array>
#include <cstdint>

namespace nvc {

// Mixes two values into 64 well spread bits, with the finaliser of SplitMix64 (Steele, Lea, Flood,
// "Fast splittable pseudorandom number generators", 2014).
uint64_t HashMix(uint64_t a, uint64_t b);

// Scales `bits` to [0, bound). `bound` must be above 0.
uint64_t ScaleToBound(uint64_t bits, uint64_t bound);

// A Feistel network on the smallest even number of bits that holds `size`. Results of `size` or
// more are permuted again until they fall below it (Black, Rogaway, "Ciphers with arbitrary finite
// domains", 2002).
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed);

  // Returns the value at place i, for i < size.
  uint64_t operator()(uint64_t i) const;

 private:
  // Small sizes need more rounds than the usual four to look random.
  static constexpr int kRounds = 8;

  uint64_t size_;
  int half_bits_ = 1;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_BASE_PERMUTATION_H_
