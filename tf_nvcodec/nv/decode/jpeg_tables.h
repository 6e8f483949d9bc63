// The Huffman tables that Motion JPEG may leave out: those of ITU-T T.81, K.3, as cameras of USB
// and AVI files mean then. FFmpeg starts from them; NVDEC is not known to.
#ifndef TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_
#define TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace nvc {

// The picture with the tables before its first scan; nothing when it has tables of its own, or is
// no JPEG as far as its first scan.
std::optional<std::vector<uint8_t>> WithHuffmanTables(absl::Span<const uint8_t> jpeg);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_
