// Whether what a sample table says of sync samples is true, looked at where decoding is to begin.
#ifndef TF_NVCODEC_CORE_INDEX_START_CHECK_H_
#define TF_NVCODEC_CORE_INDEX_START_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {

// Reads the packets that decoding `frames` (display indices) begins with. Aborted when one of them
// is no random access point: the index has to be made by looking at every packet.
absl::Status CheckStarts(const FrameIndex& index, const ByteSource& source,
                         const std::vector<int64_t>& frames);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_INDEX_START_CHECK_H_
