#include "tf_nvcodec/core/bitstream/nal_units.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tf_nvcodec/core/bitstream/bit_reader.h"

namespace nvc {
namespace {

std::vector<std::string> Walk(const std::string& bytes, int length_bytes, bool* damaged = nullptr) {
  NalWalker walker(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), length_bytes);
  std::vector<std::string> units;
  for (NalUnit nal; walker.Next(&nal);) {
    units.emplace_back(reinterpret_cast<const char*>(nal.data), nal.size);
  }
  if (damaged != nullptr) *damaged = walker.damaged();
  return units;
}

using Units = std::vector<std::string>;

TEST(NalWalkerTest, AnnexB) {
  using std::string_literals::operator""s;
  EXPECT_EQ(Walk("\0\0\1AB\0\0\1C"s, 0), (Units{"AB", "C"}));
  EXPECT_EQ(Walk("junk\0\0\1AB"s, 0), (Units{"AB"}));
  EXPECT_EQ(Walk("no start code"s, 0), Units{});
  EXPECT_EQ(Walk("\0\0\1"s, 0), Units{});
  EXPECT_EQ(Walk(""s, 0), Units{});
}

TEST(NalWalkerTest, LengthPrefixed) {
  using std::string_literals::operator""s;
  bool damaged = true;
  EXPECT_EQ(Walk("\0\0\0\2AB\0\0\0\1C"s, 4, &damaged), (Units{"AB", "C"}));
  EXPECT_FALSE(damaged);
  EXPECT_EQ(Walk("\2AB\1C"s, 1), (Units{"AB", "C"}));
  EXPECT_EQ(Walk("\0\0\0\1A\0\0\0\x9B"s, 4, &damaged), (Units{"A"}));
}

TEST(NalWalkerTest, LengthThatDoesNotFitIsDamage) {
  using std::string_literals::operator""s;
  for (const std::string& bytes : {"\0\0\0\5AB"s, "\xFF\xFF\xFF\xFFxx"s, "\0\0\0\0AB"s}) {
    bool damaged = false;
    EXPECT_EQ(Walk(bytes, 4, &damaged), Units{});
    EXPECT_TRUE(damaged);
  }
}

TEST(NalLengthBytesTest, ReadsConfigurationRecords) {
  const uint8_t avcc[] = {1, 100, 0, 31, 0xFF, 0xE1};
  EXPECT_EQ(NalLengthBytes(avcc, sizeof(avcc), false), 4);
  const uint8_t annex_b[] = {0, 0, 0, 1, 0x67, 100};
  EXPECT_EQ(NalLengthBytes(annex_b, sizeof(annex_b), false), 0);
  uint8_t hvcc[23] = {1};
  hvcc[21] = 1;
  EXPECT_EQ(NalLengthBytes(hvcc, sizeof(hvcc), true), 2);
  EXPECT_EQ(NalLengthBytes(nullptr, 0, true), 0);
  EXPECT_EQ(NalLengthBytes(avcc, 3, false), 0);
}

TEST(BitReaderTest, ReadsBitsAndExpGolomb) {
  // 1 | 010 | 00101 | 1010 | ...: the codes ue(v) of 0, 1 and 4, then four bits.
  const uint8_t bytes[] = {0b10100010, 0b11010000};
  BitReader bits(bytes, sizeof(bytes));
  EXPECT_EQ(bits.UnsignedGolomb(), 0u);
  EXPECT_EQ(bits.UnsignedGolomb(), 1u);
  EXPECT_EQ(bits.UnsignedGolomb(), 4u);
  EXPECT_EQ(bits.Read(4), 0b1010u);
  EXPECT_EQ(bits.bits_left(), 3u);
  EXPECT_FALSE(bits.overrun());
}

TEST(BitReaderTest, PastTheEndIsZeroAndSaysSo) {
  const uint8_t bytes[] = {0xFF};
  BitReader bits(bytes, sizeof(bytes));
  EXPECT_EQ(bits.Read(12), 0xFF0u);
  EXPECT_TRUE(bits.overrun());
  EXPECT_EQ(bits.bits_left(), 0u);
  const uint8_t zeros[3] = {};
  BitReader endless(zeros, sizeof(zeros));
  endless.UnsignedGolomb();
  EXPECT_TRUE(endless.overrun());
}

}  // namespace
}  // namespace nvc
