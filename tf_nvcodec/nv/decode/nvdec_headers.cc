#include "tf_nvcodec/nv/decode/nvdec_headers.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bitstream/bit_reader.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/sps.h"

extern "C" {
#include <libavutil/macros.h>
}

namespace nvc {
namespace {

constexpr int kMacroblock = 16;

std::optional<PictureWindow> OfH264(const NalUnit& nal) {
  const std::optional<H264Sps> sps = ReadH264Sps(nal);
  return sps.has_value() ? std::optional<PictureWindow>(sps->window) : std::nullopt;
}

bool IsSlice(AVCodecID codec, const NalUnit& nal) {
  if (codec == AV_CODEC_ID_HEVC) return ((nal.data[0] >> 1) & 63) < 32;
  const int type = nal.data[0] & 31;
  return type >= 1 && type <= 5;
}

// Reads the header of a VP8 key frame (RFC 6386, 9.1).
std::optional<PictureWindow> OfVp8(const uint8_t* data, size_t size) {
  if (size < 10 || (data[0] & 1) != 0) return std::nullopt;
  if (data[3] != 0x9d || data[4] != 0x01 || data[5] != 0x2a) return std::nullopt;
  PictureWindow window;
  window.coded_width = window.width = (data[6] | data[7] << 8) & 0x3fff;
  window.coded_height = window.height = (data[8] | data[9] << 8) & 0x3fff;
  return window;
}

// Reads MPEG-1 and MPEG-2 (ISO/IEC 13818-2): sequence_header() in 6.2.2.1, sequence_extension() in
// 6.2.2.3 and the number of macroblocks in 6.3.3.
std::optional<PictureWindow> OfMpeg(const uint8_t* data, size_t size) {
  constexpr int kPicture = 0x00, kSequence = 0xb3, kExtension = 0xb5, kSequenceExtension = 1;
  std::optional<PictureWindow> found;
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit unit; walker.Next(&unit) && unit.data[0] != kPicture;) {
    const uint8_t* const bytes = unit.data;
    if (unit.size < 4) continue;
    bool progressive = true;
    if (bytes[0] == kSequence) {
      found.emplace();
      found->width = bytes[1] << 4 | bytes[2] >> 4;
      found->height = (bytes[2] & 15) << 8 | bytes[3];
    } else if (found.has_value() && bytes[0] == kExtension && bytes[1] >> 4 == kSequenceExtension) {
      progressive = (bytes[2] & 8) != 0;
      found->width |= ((bytes[2] & 1) << 1 | bytes[3] >> 7) << 12;
      found->height |= (bytes[3] >> 5 & 3) << 12;
    } else {
      continue;
    }
    found->coded_width = FFALIGN(found->width, kMacroblock);
    // Each of the two fields has whole macroblocks.
    found->coded_height = FFALIGN(found->height, progressive ? kMacroblock : 2 * kMacroblock);
  }
  if (found.has_value() && (found->width == 0 || found->height == 0)) return std::nullopt;
  return found;
}

struct Mpeg4Layer {
  uint32_t type = 0;          // video_object_type_indication, table 6-10
  int width = 0, height = 0;  // 0 for shapes that are not rectangles
};

// Reads the next VideoObjectLayer() (ISO/IEC 14496-2, 6.2.3). Returns nothing after the last one.
std::optional<Mpeg4Layer> NextMpeg4Layer(NalWalker* walker) {
  constexpr int kFirstLayer = 0x20, kLastLayer = 0x2f;
  constexpr size_t kTypeEnd = 3;  // bytes up to the end of the type
  NalUnit unit;
  do {
    if (!walker->Next(&unit)) return std::nullopt;
  } while (unit.data[0] < kFirstLayer || unit.data[0] > kLastLayer || unit.size < kTypeEnd);
  constexpr uint32_t kExtendedAspect = 15, kRectangle = 0;
  Mpeg4Layer layer;
  BitReader bits(unit.data + 1, unit.size - 1);
  bits.Skip(1);  // random_accessible_vol
  layer.type = bits.Read(8);
  if (bits.Flag()) bits.Skip(4 + 3);  // is_object_layer_identifier: a version, a priority
  if (bits.Read(4) == kExtendedAspect) bits.Skip(8 + 8);
  if (bits.Flag()) {                         // vol_control_parameters
    bits.Skip(2 + 1);                        // chroma_format, low_delay
    if (bits.Flag()) bits.Skip(3 * 26 + 1);  // vbv_parameters
  }
  const uint32_t shape = bits.Read(2);
  bits.Skip(1);
  const uint32_t resolution = bits.Read(16);  // vop_time_increment_resolution
  bits.Skip(1);
  if (bits.Flag()) {  // fixed_vop_rate: an increment, in as many bits as its largest value needs
    int count = 1;
    while (resolution > 1u << count) ++count;
    bits.Skip(count);
  }
  if (shape != kRectangle) return layer;
  bits.Skip(1);
  layer.width = static_cast<int>(bits.Read(13));
  bits.Skip(1);
  layer.height = static_cast<int>(bits.Read(13));
  if (bits.overrun()) layer.width = layer.height = 0;
  return layer;
}

std::optional<PictureWindow> OfMpeg4(const uint8_t* data, size_t size) {
  std::optional<PictureWindow> found;
  NalWalker walker(data, size, /*length_bytes=*/0);
  while (const auto layer = NextMpeg4Layer(&walker)) {
    if (layer->width == 0 || layer->height == 0) continue;
    found.emplace();
    found->width = layer->width;
    found->height = layer->height;
    found->coded_width = FFALIGN(layer->width, kMacroblock);
    found->coded_height = FFALIGN(layer->height, kMacroblock);
  }
  return found;
}

}  // namespace

std::optional<PictureWindow> FindWindow(AVCodecID codec, const uint8_t* data, size_t size,
                                        int coded_width, int coded_height) {
  if (codec == AV_CODEC_ID_VP8) return OfVp8(data, size);
  if (codec == AV_CODEC_ID_MPEG1VIDEO || codec == AV_CODEC_ID_MPEG2VIDEO) return OfMpeg(data, size);
  if (codec == AV_CODEC_ID_MPEG4) return OfMpeg4(data, size);
  if (codec != AV_CODEC_ID_H264 && codec != AV_CODEC_ID_HEVC) return std::nullopt;
  std::optional<PictureWindow> found;
  bool found_of_size = false;
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit nal; walker.Next(&nal) && !IsSlice(codec, nal);) {
    const auto window = codec == AV_CODEC_ID_HEVC ? ReadHevcSps(nal) : OfH264(nal);
    if (!window.has_value()) continue;
    const bool is_of_size =
        window->coded_width == coded_width && window->coded_height == coded_height;
    if (!is_of_size && found_of_size) continue;
    found = window;
    found_of_size = is_of_size;
  }
  return found;
}

bool MayTurnToFields(const uint8_t* data, size_t size) {
  NalWalker walker(data, size, /*length_bytes=*/0);
  for (NalUnit nal; walker.Next(&nal) && !IsSlice(AV_CODEC_ID_H264, nal);) {
    const std::optional<H264Sps> sps = ReadH264Sps(nal);
    if (sps.has_value() && !sps->frames_only) return true;
  }
  return false;
}

// VP9's uncompressed_header() starts with a marker of two bits and the profile in two bits, the low
// one first.
absl::Status CheckVp9Profile(const uint8_t* data, size_t size) {
  if (size == 0) return absl::OkStatus();
  const int profile = (data[0] >> 5 & 1) | (data[0] >> 4 & 1) << 1;
  if (profile % 2 == 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NVDEC does not decode VP9 of profile ", profile, ", only 4:2:0"));
}

absl::Status CheckMpeg4Object(const uint8_t* data, size_t size) {
  constexpr uint32_t kSimple = 1;
  NalWalker walker(data, size, /*length_bytes=*/0);
  while (const auto layer = NextMpeg4Layer(&walker)) {
    if (layer->type == kSimple) continue;
    return absl::UnimplementedError(
        absl::StrCat("NVDEC is not used for mpeg4 of object type ", layer->type,
                     ", only for Simple ones: its B pictures are not those of other decoders"));
  }
  return absl::OkStatus();
}

}  // namespace nvc
