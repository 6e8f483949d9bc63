// The interface of encoders: frames go in, in display order, and packets come out.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODER_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// Gets each packet, in decoding order, with times in the encoder's time base. An error stops the
// encoder, which returns that error unchanged.
using PacketSink = std::function<absl::Status(AVPacket* packet)>;

// Bits per second, and bits of the VBV buffer. 0 means no limit.
struct EncoderRate {
  int64_t bitrate = 0, max_bitrate = 0, vbv_size = 0;
};

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

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODER_H_
