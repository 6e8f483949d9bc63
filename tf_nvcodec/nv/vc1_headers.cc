#include "tf_nvcodec/nv/vc1_headers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bit_reader.h"
#include "tf_nvcodec/core/nal_units.h"

extern "C" {
#include <libavutil/macros.h>
}

namespace nvc {
namespace {

// Start codes, of annex E.
constexpr uint8_t kFrame = 0x0d, kEntryPoint = 0x0e, kSequence = 0x0f;
constexpr uint8_t kPrefix[] = {0, 0, 1};
constexpr uint32_t kAdvanced = 3;
constexpr size_t kHeaderBytes = 512;  // longer than any

struct Size {
  int width = 0, height = 0;
};

// MAX_CODED_WIDTH or CODED_WIDTH and the like: pairs of samples, less one.
Size ReadSize(BitReader* bits) {
  Size size;
  size.width = static_cast<int>(bits->Read(12) + 1) * 2;
  size.height = static_cast<int>(bits->Read(12) + 1) * 2;
  return size;
}

struct Sequence {
  Size size;
  int leaky_buckets = 0;
};

// 6.1; nothing of other profiles.
std::optional<Sequence> ReadSequence(BitReader bits) {
  constexpr uint32_t kOtherAspect = 15;
  if (bits.Read(2) != kAdvanced) return std::nullopt;
  bits.Skip(3 + 2 + 3 + 5 + 1);  // level, chroma, two hints for post-processing and its flag
  Sequence sequence;
  sequence.size = ReadSize(&bits);
  bits.Skip(6);       // pulldown, interlace, frame counter, interpolation, a reserved bit, PSF
  if (bits.Flag()) {  // what to display
    bits.Skip(14 + 14);
    if (bits.Flag() && bits.Read(4) == kOtherAspect) bits.Skip(8 + 8);
    if (bits.Flag()) bits.Skip(bits.Flag() ? 16 : 8 + 4);  // frame rate
    if (bits.Flag()) bits.Skip(8 + 8 + 8);                 // colours
  }
  if (bits.Flag()) sequence.leaky_buckets = static_cast<int>(bits.Read(5));
  if (bits.overrun()) return std::nullopt;
  return sequence;
}

// 6.2: the size, where it differs from the sequence's.
std::optional<Size> ReadEntryPoint(BitReader bits, int leaky_buckets) {
  bits.Skip(7 + 2 + 1 + 1 + 2);  // flags, DQUANT, VSTRANSFORM, OVERLAP, QUANTIZER
  bits.Skip(8 * leaky_buckets);  // how full they are
  if (!bits.Flag()) return std::nullopt;
  const Size size = ReadSize(&bits);
  return bits.overrun() ? std::nullopt : std::optional<Size>(size);
}

}  // namespace

std::optional<PictureWindow> Vc1Window(const uint8_t* data, size_t size) {
  constexpr int kMacroblock = 16;
  std::optional<Sequence> sequence;
  Size found;
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit unit; walker.Next(&unit) && unit.data[0] != kFrame;) {
    const std::vector<uint8_t> payload = NalPayload(unit, 1, kHeaderBytes);
    const BitReader bits(payload.data(), payload.size());
    if (unit.data[0] == kSequence) {
      sequence = ReadSequence(bits);
      if (sequence.has_value()) found = sequence->size;
    } else if (unit.data[0] == kEntryPoint && sequence.has_value()) {
      found = ReadEntryPoint(bits, sequence->leaky_buckets).value_or(sequence->size);
    }
  }
  if (!sequence.has_value()) return std::nullopt;
  PictureWindow window;
  window.width = found.width;
  window.height = found.height;
  window.coded_width = FFALIGN(found.width, kMacroblock);
  window.coded_height = FFALIGN(found.height, kMacroblock);
  return window;
}

absl::Status CheckVc1Height(int height) {
  if (height % 4 == 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NVDEC is not used for VC-1 whose height is no multiple of 4, such as ", height,
                   ": it pads pictures wrongly at the bottom"));
}

absl::Span<const uint8_t> Vc1Headers(absl::Span<const uint8_t> extradata) {
  const auto begin =
      std::search(extradata.begin(), extradata.end(), std::begin(kPrefix), std::end(kPrefix));
  return extradata.subspan(static_cast<size_t>(begin - extradata.begin()));
}

bool LacksVc1StartCode(absl::Span<const uint8_t> packet) {
  return packet.size() < sizeof(kPrefix) ||
         !std::equal(std::begin(kPrefix), std::end(kPrefix), packet.begin());
}

std::vector<uint8_t> WithVc1StartCode(absl::Span<const uint8_t> packet) {
  std::vector<uint8_t> whole(std::begin(kPrefix), std::end(kPrefix));
  whole.push_back(kFrame);
  whole.insert(whole.end(), packet.begin(), packet.end());
  return whole;
}

}  // namespace nvc
