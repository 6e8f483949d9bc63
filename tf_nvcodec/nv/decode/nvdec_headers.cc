#include "tf_nvcodec/nv/decode/nvdec_headers.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/bitstream/nal_units.h"
#include "tf_nvcodec/core/bitstream/sps.h"

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

// Reads the header of a VP8 key frame (RFC 6386, 9.1).
std::optional<PictureWindow> OfVp8(const uint8_t* data, size_t size) {
  if (size < 10 || (data[0] & 1) != 0) return std::nullopt;
  if (data[3] != 0x9d || data[4] != 0x01 || data[5] != 0x2a) return std::nullopt;
  PictureWindow window;
  window.coded_width = window.width = (data[6] | data[7] << 8) & 0x3fff;
  window.coded_height = window.height = (data[8] | data[9] << 8) & 0x3fff;
  return window;
}

}  // namespace

std::optional<PictureWindow> FindWindow(AVCodecID codec, const uint8_t* data, size_t size,
                                        int coded_width, int coded_height) {
  if (codec == AV_CODEC_ID_VP8) return OfVp8(data, size);
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

}  // namespace nvc
