// VC-1's headers of the Advanced profile (SMPTE 421M), as far as NVDEC's parser needs help, and
// what of it NVDEC is not used for.
#ifndef TF_NVCODEC_NV_DECODE_VC1_HEADERS_H_
#define TF_NVCODEC_NV_DECODE_VC1_HEADERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/bitstream/sps.h"

namespace nvc {

// What FFmpeg's decoder shows: the coded picture whole, by the last entry point, else by the last
// sequence header; whatever size these say is to be displayed.
std::optional<PictureWindow> Vc1Window(const uint8_t* data, size_t size);

// What NVDEC is not asked for. There is nothing to compare interlaced pictures, mapped ranges
// (FFmpeg shows them as they are coded), segmented frames (FFmpeg 5.1 decodes none), pan-scan
// windows (it does not read them) and DQUANT 2 (it does not apply it) with.
// Of pictures in slices whose bitplanes are coded in the picture's header, an H200's NVDEC makes
// others than FFmpeg's decoder from the second slice on; where the planes are raw they are equal.
// With rounded chroma vectors (FASTUVMC) NVDEC's pictures are not FFmpeg's: of interpolated
// macroblocks FFmpeg rounds them away from zero, of all others to zero, as NVDEC does throughout;
// where the deblocking filter is used, P pictures differ too.
struct Vc1Features {
  bool interlaced = false;  // its pictures may be, each says whether it is
  bool segmented = false;   // PSF
  bool mapped_ranges = false;
  bool pan_scan = false;
  bool fast_chroma_vectors = false;
  bool slices = false;  // which only a picture tells
  int dquant = 0;
};

// By the last headers before the first picture; none by those of other profiles.
Vc1Features Vc1FeaturesOf(const uint8_t* data, size_t size);

// Unimplemented for those.
absl::Status CheckVc1Features(const Vc1Features& features);

// Unimplemented unless NVDEC pads pictures of that height (in rows, as the headers have it) as the
// standard does. Where vectors point below a picture, an H100's or H200's repeats what is in the
// last row of the height rounded up to a multiple of 4.
absl::Status CheckVc1Height(int height);

// The headers in a container's description, which may have other bytes before them.
absl::Span<const uint8_t> Vc1Headers(absl::Span<const uint8_t> extradata);

// The packet with the start code of a frame, which ASF and Matroska leave out.
std::vector<uint8_t> WithVc1StartCode(absl::Span<const uint8_t> packet);
bool LacksVc1StartCode(absl::Span<const uint8_t> packet);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_VC1_HEADERS_H_
