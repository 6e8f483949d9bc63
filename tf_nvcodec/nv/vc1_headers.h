// VC-1's headers of the Advanced profile (SMPTE 421M), as far as NVDEC's parser needs help.
#ifndef TF_NVCODEC_NV_VC1_HEADERS_H_
#define TF_NVCODEC_NV_VC1_HEADERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/picture_window.h"

namespace nvc {

// What FFmpeg's decoder shows: the coded picture whole, by the last entry point, else by the last
// sequence header; whatever size these say is to be displayed.
std::optional<PictureWindow> Vc1Window(const uint8_t* data, size_t size);

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

#endif  // TF_NVCODEC_NV_VC1_HEADERS_H_
