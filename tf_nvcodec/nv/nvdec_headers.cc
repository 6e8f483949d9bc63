#include "tf_nvcodec/nv/nvdec_headers.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/h264_sps.h"
#include "tf_nvcodec/core/hevc_sps.h"
#include "tf_nvcodec/core/nal_units.h"

extern "C" {
#include <libavutil/macros.h>
}

namespace nvc {
namespace {

std::optional<PictureWindow> OfH264(const NalUnit& nal) {
  const std::optional<H264Sps> sps = ReadH264Sps(nal);
  return sps.has_value() ? std::optional<PictureWindow>(sps->window) : std::nullopt;
}

bool IsSlice(AVCodecID codec, const NalUnit& nal) {
  if (codec == AV_CODEC_ID_HEVC) return ((nal.data[0] >> 1) & 63) < 32;
  const int type = nal.data[0] & 31;
  return type >= 1 && type <= 5;
}

// RFC 6386, 9.1.
std::optional<PictureWindow> OfVp8(const uint8_t* data, size_t size) {
  if (size < 10 || (data[0] & 1) != 0) return std::nullopt;
  if (data[3] != 0x9d || data[4] != 0x01 || data[5] != 0x2a) return std::nullopt;
  PictureWindow window;
  window.coded_width = window.width = (data[6] | data[7] << 8) & 0x3fff;
  window.coded_height = window.height = (data[8] | data[9] << 8) & 0x3fff;
  return window;
}

// ISO/IEC 13818-2: sequence_header() 6.2.2.1, sequence_extension() 6.2.2.3, macroblocks 6.3.3.
std::optional<PictureWindow> OfMpeg(const uint8_t* data, size_t size) {
  constexpr int kPicture = 0x00, kSequence = 0xb3, kExtension = 0xb5, kSequenceExtension = 1;
  constexpr int kMacroblock = 16;
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
    // Each of two fields is whole macroblocks.
    found->coded_height = FFALIGN(found->height, progressive ? kMacroblock : 2 * kMacroblock);
  }
  if (found.has_value() && (found->width == 0 || found->height == 0)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<PictureWindow> FindWindow(AVCodecID codec, const uint8_t* data, size_t size,
                                        int coded_width, int coded_height) {
  if (codec == AV_CODEC_ID_VP8) return OfVp8(data, size);
  if (codec == AV_CODEC_ID_MPEG1VIDEO || codec == AV_CODEC_ID_MPEG2VIDEO) return OfMpeg(data, size);
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

// uncompressed_header() of the VP9 bitstream: a marker of two bits, then the profile's, low first.
absl::Status CheckVp9Profile(const uint8_t* data, size_t size) {
  if (size == 0) return absl::OkStatus();
  const int profile = (data[0] >> 5 & 1) | (data[0] >> 4 & 1) << 1;
  if (profile % 2 == 0) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("NVDEC does not decode VP9 of profile ", profile, ", only 4:2:0"));
}

}  // namespace nvc
