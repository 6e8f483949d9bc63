// Encodes a batch of frames to the bytes of a video file.
#ifndef TF_NVCODEC_CORE_MUX_VIDEO_WRITER_H_
#define TF_NVCODEC_CORE_MUX_VIDEO_WRITER_H_

#include "absl/status/status.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/frame_batch.h"
#include "tf_nvcodec/core/encode/frame_loader.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/mux/memory_output.h"

namespace nvc {

// Writes the whole file to `out`, whose contents are undefined after an error. The frames are not
// used after this returns. `cancelled` is checked before each frame and each packet.
absl::Status WriteVideo(const FrameBatch& frames, const FrameTiming& timing,
                        const EncodeOptions& options, const Cancelled& cancelled,
                        GrowingBytes* out);

// Does the same with frames that `open` returns. `shape` describes them; its data is not read.
absl::Status WriteVideoFrom(const FrameBatch& shape, const OpenFrames& open,
                            const FrameTiming& timing, const EncodeOptions& options,
                            const Cancelled& cancelled, GrowingBytes* out);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_VIDEO_WRITER_H_
