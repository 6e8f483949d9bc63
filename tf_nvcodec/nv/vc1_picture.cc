#include "tf_nvcodec/nv/vc1_picture.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "tf_nvcodec/core/bit_reader.h"
#include "tf_nvcodec/core/nal_units.h"

namespace nvc {
namespace {

constexpr uint8_t kFrame = 0x0d;     // the start code's, of annex E
constexpr size_t kHeaderBytes = 64;  // longer than what comes before the last bitplane's mode

// In the order of their codes, which are 0, 10, 110, 1110 and 1111.
enum class Type { kPredicted, kBidirectional, kIntra, kBidirectionalIntra, kSkipped };
enum class Vectors { kQuarter, kMixed, kHalf, kBilinear, kCompensated };

// How many bits like this come before another one; at most `most`.
int ReadUnary(BitReader* bits, bool like, int most) {
  int count = 0;
  while (count < most && bits->Flag() == like) ++count;
  return count;
}

bool IsCoded(BitReader* bits) {
  bits->Skip(1);  // INVERT
  return bits->Read(4) != 0;
}

int ReadQuantizer(BitReader* bits, const Vc1PictureSyntax& syntax) {
  constexpr int kImplicit = 0, kExplicit = 1, kSmallest = 8;
  const int index = static_cast<int>(bits->Read(5));
  if (index <= kSmallest) bits->Skip(1);             // HALFQP
  if (syntax.quantizer == kExplicit) bits->Skip(1);  // PQUANTIZER
  if (syntax.post_filter) bits->Skip(2);             // POSTPROC
  if (syntax.quantizer != kImplicit || index <= kSmallest) return index;
  // PQUANT is 3 less up to where it is a matter of more or less (12 at most): 7.1.1.6.
  return index - 3;
}

// MVMODE and, after intensity compensation, MVMODE2.
bool MayHaveFourVectors(BitReader* bits, int quantizer) {
  constexpr int kLow = 12;
  constexpr Vectors kOfLow[] = {Vectors::kQuarter, Vectors::kMixed, Vectors::kHalf,
                                Vectors::kCompensated, Vectors::kBilinear};
  constexpr Vectors kOfHigh[] = {Vectors::kBilinear, Vectors::kQuarter, Vectors::kHalf,
                                 Vectors::kCompensated, Vectors::kMixed};
  const Vectors* const modes = quantizer <= kLow ? kOfLow : kOfHigh;
  Vectors mode = modes[ReadUnary(bits, false, 4)];
  if (mode == Vectors::kCompensated) {
    const int number = ReadUnary(bits, false, 3);
    mode = modes[number == 3 ? 4 : number];
    bits->Skip(6 + 6);  // LUMSCALE, LUMSHIFT
  }
  return mode == Vectors::kMixed;
}

bool HasCodedBitplanes(BitReader bits, const Vc1PictureSyntax& syntax) {
  constexpr int kSmoothedFrom = 9;  // without flags
  const auto type = static_cast<Type>(ReadUnary(&bits, true, 4));
  if (type == Type::kSkipped) return false;
  if (syntax.frame_counter) bits.Skip(8);
  if (syntax.pulldown) bits.Skip(2);
  bits.Skip(1);  // RNDCTRL
  if (syntax.interpolation) bits.Skip(1);
  if (type == Type::kBidirectional && bits.Read(3) == 7) bits.Skip(4);  // BFRACTION
  const int quantizer = ReadQuantizer(&bits, syntax);
  if (type == Type::kIntra || type == Type::kBidirectionalIntra) {
    if (IsCoded(&bits)) return true;  // ACPRED
    const bool some = syntax.overlap && quantizer < kSmoothedFrom && bits.Flag() && bits.Flag();
    return some && IsCoded(&bits);  // OVERFLAGS
  }
  if (syntax.extended_vectors) ReadUnary(&bits, true, 3);
  if (type == Type::kBidirectional) {
    bits.Skip(1);                     // MVMODE
    if (IsCoded(&bits)) return true;  // DIRECTMB
  } else if (MayHaveFourVectors(&bits, quantizer) && IsCoded(&bits)) {
    return true;  // MVTYPEMB
  }
  return IsCoded(&bits);  // SKIPMB
}

}  // namespace

bool HasCodedVc1Bitplanes(const uint8_t* data, size_t size, const Vc1PictureSyntax& syntax) {
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit unit; walker.Next(&unit);) {
    if (unit.data[0] != kFrame) continue;
    const std::vector<uint8_t> payload = NalPayload(unit, 1, kHeaderBytes);
    return HasCodedBitplanes(BitReader(payload.data(), payload.size()), syntax);
  }
  return false;
}

}  // namespace nvc
