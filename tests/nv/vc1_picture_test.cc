#include "tf_nvcodec/nv/vc1_picture.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/nv/vc1_units.h"

namespace nvc {
namespace {

// INVERT and IMODE of a bitplane: raw, and coded in each mode (table 69 of the standard).
const std::string kRaw = "0 0000";
const char* const kCoded[] = {"0 10", "1 11", "0 001", "1 0001", "0 010", "0 011"};
// PQINDEX and HALFQP, where the index has it.
const std::string kQuantizer4 = "00100 0", kQuantizer11 = "01011", kQuantizer13 = "01101";

bool IsCoded(const std::string& bits, const Vc1PictureSyntax& syntax = {}) {
  const Vc1Bytes bytes = Vc1Unit(0x0d, bits);
  return HasCodedVc1Bitplanes(bytes.data(), bytes.size(), syntax);
}

// That it is so just where one of the planes, whose places are a P in `bits`, is coded: raw ones
// before it are read over, and nothing after it.
void ExpectPlanes(std::string bits, const Vc1PictureSyntax& syntax = {}) {
  SCOPED_TRACE(bits);
  for (size_t at; (at = bits.find('P')) != std::string::npos; bits.replace(at, 1, kRaw)) {
    for (const std::string coded : kCoded) {
      std::string cut = bits.substr(0, at) + coded;
      EXPECT_TRUE(IsCoded(cut + "10101010", syntax)) << cut;
    }
  }
  EXPECT_FALSE(IsCoded(bits + "1111", syntax));
}

Vc1PictureSyntax Quantizer(int number) {
  Vc1PictureSyntax syntax;
  syntax.quantizer = number;
  return syntax;
}

TEST(Vc1PictureTest, IntraPicturesHaveAcPrediction) {
  for (const std::string type : {"110", "1110"}) {
    ExpectPlanes(type + "0" + kQuantizer4 + "P");
    ExpectPlanes(type + "1" + kQuantizer13 + "P");
  }
}

TEST(Vc1PictureTest, OverlapMayHaveFlags) {
  Vc1PictureSyntax syntax;
  syntax.overlap = true;
  ExpectPlanes("110 0" + kQuantizer4 + "P 11 P", syntax);
  ExpectPlanes("110 0" + kQuantizer4 + "P 10", syntax);
  ExpectPlanes("110 0" + kQuantizer4 + "P 0", syntax);
  ExpectPlanes("110 0" + kQuantizer11 + "P 11 P", syntax);  // PQUANT 8, implicit
  ExpectPlanes("110 0" + kQuantizer13 + "P", syntax);
  syntax.quantizer = 2;
  ExpectPlanes("110 0" + kQuantizer11 + "P", syntax);
}

TEST(Vc1PictureTest, PredictedPicturesHaveVectorTypesAndSkips) {
  // MVMODE: one quarter, mixed, half, bilinear; then after intensity compensation.
  for (const std::string mode : {"1", "001", "0000"}) {
    ExpectPlanes("0 0" + kQuantizer4 + mode + "P");
  }
  ExpectPlanes("0 0" + kQuantizer4 + "01 P P");
  const std::string scale = "100000 000001";
  for (const std::string mode : {"1", "001", "000"}) {
    ExpectPlanes("0 0" + kQuantizer4 + "0001" + mode + scale + "P");
  }
  ExpectPlanes("0 0" + kQuantizer4 + "0001 01" + scale + "P P");
  // Their codes are others above 12.
  for (const std::string mode : {"1", "01", "001"}) {
    ExpectPlanes("0 0" + kQuantizer13 + mode + "P", Quantizer(3));
  }
  ExpectPlanes("0 0" + kQuantizer13 + "0000 P P", Quantizer(3));
  ExpectPlanes("0 0" + kQuantizer13 + "0001 000" + scale + "P P", Quantizer(3));
  ExpectPlanes("0 0" + kQuantizer13 + "01 P P");  // PQUANT 10, implicit
}

TEST(Vc1PictureTest, BidirectionalPicturesHaveDirectOnesAndSkips) {
  ExpectPlanes("10 0 010" + kQuantizer4 + "1 P P");
  ExpectPlanes("10 0 1110101" + kQuantizer13 + "0 P P");
}

TEST(Vc1PictureTest, WhatIsBeforeThemMayBeMore) {
  Vc1PictureSyntax syntax = Quantizer(1);
  syntax.frame_counter = syntax.pulldown = syntax.interpolation = syntax.post_filter = true;
  syntax.extended_vectors = true;
  const std::string shown = "11111111 11";
  ExpectPlanes("110" + shown + "1 1" + kQuantizer4 + "1 11 P", syntax);
  ExpectPlanes("10" + shown + "1 1 000" + kQuantizer4 + "1 11 110 1 P P", syntax);
  for (const std::string range : {"0", "10", "110", "111"}) {
    ExpectPlanes("0" + shown + "1 1" + kQuantizer4 + "1 11" + range + "1 P", syntax);
  }
  EXPECT_FALSE(IsCoded("1111" + shown, syntax)) << "a skipped picture has none";
}

TEST(Vc1PictureTest, TheFirstPictureIsLookedAt) {
  const Vc1Bytes raw = Vc1Unit(0x0d, "110 0" + kQuantizer4 + kRaw);
  const Vc1Bytes coded = Vc1Unit(0x0d, "110 0" + kQuantizer4 + "0 10");
  Vc1Bytes both = Vc1Unit(0x0e, "1111");
  both.insert(both.end(), raw.begin(), raw.end());
  EXPECT_FALSE(HasCodedVc1Bitplanes(both.data(), both.size(), {}));
  both.insert(both.end(), coded.begin(), coded.end());
  EXPECT_FALSE(HasCodedVc1Bitplanes(both.data(), both.size(), {}));
  both.erase(both.begin(), both.end() - static_cast<ptrdiff_t>(coded.size()));
  EXPECT_TRUE(HasCodedVc1Bitplanes(both.data(), both.size(), {}));
  EXPECT_FALSE(HasCodedVc1Bitplanes(nullptr, 0, {}));
}

}  // namespace
}  // namespace nvc
