// One stream being encoded: frames go in, in the order they are shown, and packets come out.
#ifndef TF_NVCODEC_CORE_ENCODE_ENCODER_H_
#define TF_NVCODEC_CORE_ENCODE_ENCODER_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// Called for each packet, in decoding order, with times in the encoder's time base. A failure stops
// the encoder and is returned as it is.
using PacketSink = std::function<absl::Status(AVPacket* packet)>;

// Bits per second, and bits of the VBV buffer; 0: no limit.
struct EncoderRate {
  int64_t bitrate = 0, max_bitrate = 0, vbv_size = 0;
};

class Encoder {
 public:
  virtual ~Encoder() = default;

  // `frame` has a pts in the time base; it may refer to memory that must stay until Finish returns
  // or the encoder is destroyed. Errors name the codec, the frame and the cause.
  virtual absl::Status Encode(AvFramePtr frame, const PacketSink& sink) = 0;
  // Drains the encoder. Nothing else may be called after it, nor after an error.
  virtual absl::Status Finish(const PacketSink& sink) = 0;

  // Holds from the next frame on. Unimplemented where the codec can't without starting anew.
  virtual absl::Status SetRate(const EncoderRate& rate) = 0;

  // What a muxer needs to know of the stream.
  virtual const AVCodecContext& context() const = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_ENCODER_H_
