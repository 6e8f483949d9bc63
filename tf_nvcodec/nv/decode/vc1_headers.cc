#include "tf_nvcodec/nv/decode/vc1_headers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"

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

struct Headers {
  Size size;  // coded
  int leaky_buckets = 0;
  Vc1Features features;
};

// 6.1; nothing of other profiles.
std::optional<Headers> ReadSequence(BitReader bits) {
  constexpr uint32_t kOtherAspect = 15;
  if (bits.Read(2) != kAdvanced) return std::nullopt;
  bits.Skip(3 + 2 + 3 + 5 + 1);  // level, chroma, two hints for post-processing and its flag
  Headers sequence;
  sequence.size = ReadSize(&bits);
  bits.Skip(1);  // pulldown
  sequence.features.interlaced = bits.Flag();
  bits.Skip(3);  // frame counter, interpolation, a reserved bit
  sequence.features.segmented = bits.Flag();
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

// 6.2: of a sequence with this entry point; nothing is taken from one that is cut off.
Headers WithEntryPoint(const Headers& sequence, BitReader bits) {
  Headers headers = sequence;
  Vc1Features& features = headers.features;
  bits.Skip(2);  // a broken link, a closed group
  features.pan_scan = bits.Flag();
  bits.Skip(1 + 1);  // distances of references, the deblocking filter
  features.fast_chroma_vectors = bits.Flag();
  const bool extended_vectors = bits.Flag();
  features.dquant = static_cast<int>(bits.Read(2));
  bits.Skip(1 + 1 + 2);                   // VSTRANSFORM, OVERLAP, QUANTIZER
  bits.Skip(8 * sequence.leaky_buckets);  // how full they are
  if (bits.Flag()) headers.size = ReadSize(&bits);
  if (extended_vectors) bits.Skip(1);  // extended differentials
  for (int plane = 0; plane < 2; ++plane) {
    if (!bits.Flag()) continue;
    features.mapped_ranges = true;
    bits.Skip(3);
  }
  return bits.overrun() ? sequence : headers;
}

// The last ones before the first picture.
std::optional<Headers> ReadHeaders(const uint8_t* data, size_t size) {
  std::optional<Headers> sequence, headers;
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit unit; walker.Next(&unit) && unit.data[0] != kFrame;) {
    const std::vector<uint8_t> payload = NalPayload(unit, 1, kHeaderBytes);
    const BitReader bits(payload.data(), payload.size());
    if (unit.data[0] == kSequence) {
      headers = sequence = ReadSequence(bits);
    } else if (unit.data[0] == kEntryPoint && sequence.has_value()) {
      headers = WithEntryPoint(*sequence, bits);
    }
  }
  return headers;
}

}  // namespace

std::optional<PictureWindow> Vc1Window(const uint8_t* data, size_t size) {
  constexpr int kMacroblock = 16;
  const std::optional<Headers> headers = ReadHeaders(data, size);
  if (!headers.has_value()) return std::nullopt;
  PictureWindow window;
  window.width = headers->size.width;
  window.height = headers->size.height;
  window.coded_width = FFALIGN(window.width, kMacroblock);
  window.coded_height = FFALIGN(window.height, kMacroblock);
  return window;
}

Vc1Features Vc1FeaturesOf(const uint8_t* data, size_t size) {
  const std::optional<Headers> headers = ReadHeaders(data, size);
  return headers.has_value() ? headers->features : Vc1Features();
}

absl::Status CheckVc1Features(const Vc1Features& features) {
  const char* what = nullptr;
  if (features.interlaced) what = "that may be interlaced";
  if (features.segmented) what = "of segmented frames (PSF)";
  if (features.mapped_ranges) what = "with mapped ranges";
  if (features.pan_scan) what = "with pan-scan windows";
  if (features.dquant > 1) what = "with another quantizer at all edges (DQUANT 2)";
  if (features.slices) what = "in slices";
  if (features.fast_chroma_vectors) what = "with rounded chroma vectors (FASTUVMC)";
  if (what == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("NVDEC is not used for VC-1 ", what));
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
