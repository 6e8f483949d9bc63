// FFmpeg's encoders.
#ifndef TF_NVCODEC_CORE_ENCODE_SOFTWARE_ENCODER_H_
#define TF_NVCODEC_CORE_ENCODE_SOFTWARE_ENCODER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/encoder.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/encode/svt_av1_guard.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"

namespace nvc {

// `global_header`: parameter sets go to the container instead of every key frame. InvalidArgument
// names a codec option that the codec doesn't have or whose value it refuses. `gpu_frames`: whose
// frames the encoder, NVENC, reads where they are; null for frames in host memory. An AV1 encoder
// waits for those of other threads, until `cancelled`, but not for sessions (svt_av1_turn.h).
absl::StatusOr<std::unique_ptr<Encoder>> NewSoftwareEncoder(
    const StreamSpec& stream, const FrameTiming& timing, const EncodeOptions& options,
    bool global_header, const GpuFramePool* gpu_frames, const Cancelled& cancelled);

// The two halves of it, for callers with settings of their own in between: a context that has the
// stream's size, format and colours, and the encoder it becomes.
absl::StatusOr<AvCodecContextPtr> NewEncoderContext(const StreamSpec& stream, bool global_header);
// In between: the encoder, NVENC, gets its frames from the pool.
absl::Status ReadFramesOnGpu(const GpuFramePool& pool, AVCodecContext* context);
absl::StatusOr<std::unique_ptr<Encoder>> OpenSoftwareEncoder(AvCodecContextPtr context,
                                                             const EncodeOptions& options,
                                                             const CodecOptions& settings,
                                                             EncoderUse use,
                                                             const Cancelled& cancelled);

// Keeps the encoder libraries that have loggers of their own off stderr. Changes the environment,
// so call it before other threads run; the first encoder does it otherwise.
void QuietEncoderLibraries();

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_SOFTWARE_ENCODER_H_
