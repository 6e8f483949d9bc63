// Adds Huffman tables to Motion JPEG pictures that have none. USB cameras and AVI files may leave
// them out and mean the tables of ITU-T T.81, K.3. FFmpeg's decoder starts from these tables; NVDEC
// is not known to.
#ifndef TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_
#define TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace nvc {

// Returns the picture with the tables before its first scan. Returns nothing if it has tables of
// its own, or is no valid JPEG up to its first scan.
std::optional<std::vector<uint8_t>> WithHuffmanTables(absl::Span<const uint8_t> jpeg);

}  // namespace nvc

#endif  // TF_NVCODEC_NV_DECODE_JPEG_TABLES_H_
