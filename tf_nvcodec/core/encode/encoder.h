// Encodes frames to packets: frames go in, in display order, and packets come out. The encoders of
// libavcodec, in software and on NVENC, are behind one interface.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODER_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/encode/stream_spec.h"
#include "tf_nvcodec/core/encode/svt_av1_guard.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/gpu_frame_pool.h"

namespace nvc {

// Gets each packet, in decoding order, with times in the encoder's time base. An error stops the
// encoder, which returns that error unchanged.
using PacketSink = std::function<absl::Status(AVPacket* packet)>;

// Bits per second, and bits of the VBV buffer. 0 means no limit.
struct EncoderRate {
  int64_t bitrate = 0, max_bitrate = 0, vbv_size = 0;
};

// Encodes one stream. Not thread-safe.
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Encodes a frame. It has a pts in the time base. It may refer to memory that must stay valid
  // until Finish returns or the encoder is destroyed. Errors name the codec, the frame and the
  // cause.
  virtual absl::Status Encode(AvFramePtr frame, const PacketSink& sink) = 0;
  // Drains the encoder. No other call may follow, neither after this nor after an error.
  virtual absl::Status Finish(const PacketSink& sink) = 0;

  // Changes the rates from the next frame on. Returns Unimplemented if the codec would have to
  // restart.
  virtual absl::Status SetRate(const EncoderRate& rate) = 0;

  // Describes the stream for a muxer.
  virtual const AVCodecContext& context() const = 0;
};

// Opens an encoder. With `global_header`, parameter sets go to the container instead of every key
// frame. If NVENC reads its frames in GPU memory, they come from `gpu_frames`; null means host
// memory. An AV1 encoder waits until those of other threads finish or `cancelled` returns true, but
// it does not wait for sessions (svt_av1_guard.h). Returns InvalidArgument, which names the option,
// if the codec does not have one of the codec options or refuses its value.
absl::StatusOr<std::unique_ptr<Encoder>> NewLibavcodecEncoder(
    const StreamSpec& stream, const FrameTiming& timing, const EncodeOptions& options,
    bool global_header, const GpuFramePool* gpu_frames, const Cancelled& cancelled);

// NewLibavcodecEncoder in two halves, for callers that make settings of their own in between. The
// first makes a context with the stream's size, format and colours; the last makes an encoder of
// it.
absl::StatusOr<AvCodecContextPtr> NewEncoderContext(const StreamSpec& stream, bool global_header);
// Between the two: makes the encoder, NVENC, read frames of the pool.
absl::Status ReadFramesOnGpu(const GpuFramePool& pool, AVCodecContext* context);
absl::StatusOr<std::unique_ptr<Encoder>> OpenLibavcodecEncoder(AvCodecContextPtr context,
                                                               const EncodeOptions& options,
                                                               const CodecOptions& settings,
                                                               EncoderUse use,
                                                               const Cancelled& cancelled);

// Keeps encoder libraries with their own loggers from writing to stderr. Changes the environment,
// so call it before other threads run; otherwise the first encoder does it.
void QuietEncoderLibraries();

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODER_H_
