#include "tf_nvcodec/core/rows/unpack_rows.h"

#include <vector>

#include "gtest/gtest.h"

namespace nvc {
namespace {

std::vector<uint8_t> Stored(int count) {
  std::vector<uint8_t> bytes(count);
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 73 + i / 19);
  return bytes;
}

TEST(UnpackRowsTest, BytesAtEveryWidth) {
  const Packing packings[] = {{1, 0, 8, false}, {2, 0, 8, false}, {3, 0, 8, false},
                              {4, 0, 8, false}, {6, 0, 8, false}, {2, 3, 5, false},
                              {1, 5, 3, false}};
  for (const Packing& p : packings) {
    for (int count = 1; count <= 130; ++count) {
      const std::vector<uint8_t> from = Stored((count - 1) * p.step + 1);
      for (Simd simd : SupportedSimd()) {
        std::vector<uint8_t> to(count + 1, 0xa5);
        GetUnpackKernels(simd).bytes(from.data(), p, count, to.data());
        for (int i = 0; i < count; ++i) {
          ASSERT_EQ(to[i], (from[i * p.step] >> p.shift) & ((1 << p.depth) - 1));
        }
        ASSERT_EQ(to[count], 0xa5);
      }
    }
  }
}

TEST(UnpackRowsTest, WordsAndLongsAtEveryWidth) {
  const Packing packings[] = {{2, 0, 16, false}, {2, 6, 10, false}, {4, 6, 10, false},
                              {2, 0, 12, true},  {4, 6, 10, true},  {6, 0, 16, false},
                              {8, 0, 16, true},  {2, 5, 6, false}};
  for (const Packing& p : packings) {
    for (int count = 1; count <= 130; ++count) {
      for (int element : {2, 4}) {
        const std::vector<uint8_t> from = Stored((count - 1) * p.step + element);
        for (Simd simd : SupportedSimd()) {
          std::vector<uint16_t> to(count + 1, 0xa5a5);
          const UnpackKernels& kernels = GetUnpackKernels(simd);
          (element == 2 ? kernels.words : kernels.longs)(from.data(), p, count, to.data());
          for (int i = 0; i < count; ++i) {
            uint32_t word = 0;
            for (int b = 0; b < element; ++b) {
              const int place = p.swapped ? element - 1 - b : b;
              word |= static_cast<uint32_t>(from[i * p.step + b]) << (8 * place);
            }
            ASSERT_EQ(to[i], (word >> p.shift) & ((1u << p.depth) - 1)) << p.step << " " << i;
          }
          ASSERT_EQ(to[count], 0xa5a5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace nvc
