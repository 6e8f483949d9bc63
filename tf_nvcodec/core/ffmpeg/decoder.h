// One decoder of one stream: packets in, frames out. The software decoder is FFmpeg's; a GPU
// decoder is another implementation behind the same calls.
#ifndef TF_NVCODEC_CORE_FFMPEG_DECODER_H_
#define TF_NVCODEC_CORE_FFMPEG_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// Frame threads beyond the cores: some wait for pictures that they refer to, and for the caller,
// who converts one. (HEVC on two cores: 7 % faster than with one spare.)
constexpr int kSpareThreads = 2;

struct DecoderOptions {
  int num_threads = 1;  // of this decoder; 1 also means: no delay by frame threads
  // Frames that a frame may come late in display order, for H.264 streams whose headers don't say;
  // -1: the decoder's guess.
  int reorder_depth = -1;
  int64_t max_pixels = 0;  // of a coded picture; 0: no limit
  // Each frame as soon as it can be shown, also where that keeps the engine of a GPU waiting. In
  // software that is num_threads = 1.
  bool low_latency = false;
  // Also give pictures that the decoder holds for unreachable from where it started. FFmpeg's H.264
  // decoder thinks so of good ones that it drains after a start at a recovery point.
  bool output_unreachable = false;
};

// Not thread-safe. A frame's pkt_pos is the `pos` of the packet it began in, which is how callers
// tell which packet a frame came from.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Null: no more packets, the frames still held back come out. Receive until it says false before
  // the next Send. An error is about this packet only; decoding may go on with the next one.
  virtual absl::Status Send(const AVPacket* packet) = 0;
  // False when the decoder wants another packet (or, after Send(nullptr), when all is out).
  virtual absl::StatusOr<bool> Receive(AVFrame* frame) = 0;
  // Whether anything was wrong since the last call, also where Send and Receive said nothing: with
  // several threads FFmpeg does not always tell with the frame.
  virtual bool TakeErrors() = 0;
  // Whether a picture was damaged, and patched up, since the last call; it may not say so itself.
  virtual bool TakeConcealment() { return false; }
  // Forgets everything sent, to start again at a random access point.
  virtual void Reset() = 0;
  // Whether it is sure to decode any stream of the parameters it was opened with, not only the one
  // it has decoded, exactly as a decoder just opened would.
  virtual bool IsAsNew() { return false; }
};

// Unimplemented: no decoder for this codec in this FFmpeg; InvalidArgument: parameters that the
// decoder refuses.
absl::StatusOr<std::unique_ptr<Decoder>> OpenSoftwareDecoder(const AVCodecParameters& codec,
                                                             AVRational time_base,
                                                             const DecoderOptions& options);

// Whether a decoder is opened alike for both.
bool SameParameters(const AVCodecParameters& a, const AVCodecParameters& b);

// True when the decoder itself says that the picture is not what was encoded.
bool IsDamaged(const AVFrame& frame);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_DECODER_H_
