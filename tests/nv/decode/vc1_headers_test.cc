#include "tf_nvcodec/nv/decode/vc1_headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <string>

namespace nvc {
namespace {

using Bytes = std::vector<uint8_t>;

// A unit with a start code of these bits; blanks are none. Where two zeros would make a start code
// out of the payload, a 3 keeps them apart (annex E).
Bytes Unit(uint8_t code, std::string bits) {
  bits.erase(std::remove(bits.begin(), bits.end(), ' '), bits.end());
  bits += '1';
  bits.resize((bits.size() + 7) / 8 * 8, '0');
  Bytes unit = {0, 0, 1, code};
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
std::string Number(int value) {
  return std::bitset<kBits>(static_cast<unsigned long long>(value)).to_string();
}

std::string Size(int width, int height) {
  return Number<12>(width / 2 - 1) + Number<12>(height / 2 - 1);
}

// `flags`: from the one of pull-down on; `after`: from the one of what to display on.
Bytes Sequence(int width, int height, const std::string& after, int profile = 3,
               const std::string& flags = "000010") {
  return Unit(0x0f,
              Number<2>(profile) + "010 01 000 00000 0" + Size(width, height) + flags + after);
}

// `after`: from how full the buffers are on.
Bytes EntryPoint(const std::string& after, const std::string& flags = "0100000 00 0 0 00") {
  return Unit(0x0e, flags + after);
}

Bytes operator+(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

std::pair<int, int> SizeOf(const Bytes& bytes) {
  const auto window = Vc1Window(bytes.data(), bytes.size());
  if (!window.has_value()) return {0, 0};
  EXPECT_EQ(window->coded_width, (window->width + 15) / 16 * 16);
  EXPECT_EQ(window->coded_height, (window->height + 15) / 16 * 16);
  EXPECT_EQ(window->left + window->top, 0);
  return {window->width, window->height};
}

TEST(Vc1HeadersTest, TheSizeIsTheSequences) {
  const std::pair<int, int> want(200, 150);
  EXPECT_EQ(SizeOf(Sequence(200, 150, "0 0")), want);
  // To be displayed in another size, square, at a rate, with colours, and no buffers.
  const std::string size = Number<14>(639) + Number<14>(479);
  EXPECT_EQ(SizeOf(Sequence(200, 150,
                            "1" + size + "1 0001 1 0 00000010 0001 1 000000010000000100000001 0")),
            want);
  const Bytes headers = Sequence(2, 2, "0 0") + EntryPoint("0 00");
  EXPECT_EQ(SizeOf(headers), std::make_pair(2, 2));
}

TEST(Vc1HeadersTest, AnEntryPointMayTellAnother) {
  const std::string smaller = "1" + Size(176, 144) + "00";
  const Bytes plain = Sequence(320, 192, "0 0");
  EXPECT_EQ(SizeOf(plain + EntryPoint(smaller)), std::make_pair(176, 144));
  EXPECT_EQ(SizeOf(plain + EntryPoint(smaller) + EntryPoint("0 00")), std::make_pair(320, 192));
  EXPECT_EQ(SizeOf(EntryPoint(smaller)), std::make_pair(0, 0));
  // Two buffers, and how full each is.
  const std::string buffers = "1 00010 0001 0010" + std::string(2 * 32, '1');
  const Bytes buffered = Sequence(320, 192, "0" + buffers);
  EXPECT_EQ(SizeOf(buffered + EntryPoint("11111111 00000000" + smaller)), std::make_pair(176, 144));
  // Pictures come after the headers.
  EXPECT_EQ(SizeOf(plain + Unit(0x0d, "1") + EntryPoint(smaller)), std::make_pair(320, 192));
}

std::string WhyNot(const Bytes& bytes) {
  return std::string(CheckVc1Features(Vc1FeaturesOf(bytes.data(), bytes.size())).message());
}

TEST(Vc1HeadersTest, SomeIsNotForNvdec) {
  const Bytes sequence = Sequence(96, 64, "0 0");
  const Bytes interlaced = Sequence(96, 64, "0 0", 3, "010010");
  const std::string why = "NVDEC is not used for VC-1 ";
  // All the rest: pull-down, a frame counter, interpolation; a broken link, distances of
  // references, deblocking, extended vectors, DQUANT 1, VSTRANSFORM, OVERLAP, QUANTIZER.
  const Bytes rest =
      Sequence(96, 64, "0 0", 3, "101110") + EntryPoint("0 1 00", "1101101 01 1 1 11");
  EXPECT_EQ(WhyNot(sequence), "");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 00")), "");
  EXPECT_EQ(WhyNot(rest), "");
  EXPECT_EQ(WhyNot({}), "");
  EXPECT_EQ(WhyNot(interlaced), why + "that may be interlaced");
  EXPECT_EQ(WhyNot(interlaced + EntryPoint("0 00")), why + "that may be interlaced");
  EXPECT_EQ(WhyNot(Sequence(96, 64, "0 0", 3, "000011") + EntryPoint("0 00")),
            why + "of segmented frames (PSF)");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 00", "0110000 00 0 0 00")),
            why + "with pan-scan windows");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 00", "0100010 00 0 0 00")),
            why + "with rounded chroma vectors (FASTUVMC)");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 00", "0100000 10 0 0 00")),
            why + "with another quantizer at all edges (DQUANT 2)");
  // After a size, and extended differentials; of luma, of chroma.
  EXPECT_EQ(WhyNot(sequence + EntryPoint("1" + Size(64, 48) + "0 1 000 0", "0100001 00 0 0 00")),
            why + "with mapped ranges");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 0 1 000")), why + "with mapped ranges");
  // The last one before a picture tells.
  const Bytes mapped = EntryPoint("0 0 1 000");
  EXPECT_EQ(WhyNot(sequence + mapped + EntryPoint("0 00")), "");
  EXPECT_EQ(WhyNot(sequence + EntryPoint("0 00") + Unit(0x0d, "1") + mapped), "");
}

TEST(Vc1HeadersTest, WhatIsNoneTellsNothing) {
  EXPECT_EQ(SizeOf(Sequence(320, 192, "0 0", /*profile=*/0)), std::make_pair(0, 0));
  EXPECT_EQ(SizeOf({}), std::make_pair(0, 0));
  const Bytes whole = Sequence(320, 192, "0 0");
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    EXPECT_EQ(SizeOf(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))),
              std::make_pair(0, 0))
        << size;
  }
}

TEST(Vc1HeadersTest, StartCodesAreFoundAndGiven) {
  const Bytes described = Bytes{0x25} + Sequence(320, 192, "0 0");
  EXPECT_EQ(Bytes(Vc1Headers(described).begin(), Vc1Headers(described).end()),
            Sequence(320, 192, "0 0"));
  EXPECT_TRUE(Vc1Headers(Bytes{1, 2, 3}).empty());
  EXPECT_TRUE(Vc1Headers({}).empty());
  const Bytes frame = {0x40, 0, 0, 3, 1};
  EXPECT_TRUE(LacksVc1StartCode(frame));
  EXPECT_TRUE(LacksVc1StartCode(Bytes{0, 0}));
  const Bytes whole = {0, 0, 1, 0x0d, 0x40, 0, 0, 3, 1};
  EXPECT_EQ(WithVc1StartCode(frame), whole);
  EXPECT_FALSE(LacksVc1StartCode(whole));
}

}  // namespace
}  // namespace nvc
