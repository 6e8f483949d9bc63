// Decodes the packets of one stream to frames. The software decoder is FFmpeg's; a GPU's decoder
// implements the same interface. DecoderCache keeps software decoders open for the next stream.
#ifndef TF_NVCODEC_CORE_FFMPEG_DECODER_H_
#define TF_NVCODEC_CORE_FFMPEG_DECODER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/pool.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// Frame threads beyond the number of cores. Some threads wait for reference pictures, or for the
// caller while it converts a frame.
constexpr int kSpareThreads = 2;

struct DecoderOptions {
  int num_threads = 1;  // of this decoder; with 1 there is no delay by frame threads
  // How many frames late a frame may come in display order, for H.264 streams whose headers do not
  // say; -1: the decoder guesses.
  int reorder_depth = -1;
  int64_t max_pixels = 0;  // limit of a coded picture; 0: none
  // Output each frame as soon as it can be shown, even if a GPU's engine then waits. A software
  // decoder does so with num_threads = 1.
  bool low_latency = false;
  // Output also the pictures that the decoder thinks it can't decode from where it started. After a
  // start at a recovery point, FFmpeg's H.264 decoder thinks so of good ones that it drains.
  bool output_unreachable = false;
};

// Decodes one stream. Not thread-safe. PacketPos() of a frame is the `pos` of the packet that it
// begins in, so that callers know which packet a frame came from.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Sends a packet; null means the end, after which the frames still held back come out. Before the
  // next Send, call Receive until it returns false. An error concerns this packet only, and
  // decoding may go on with the next one.
  virtual absl::Status Send(const AVPacket* packet) = 0;
  // Returns false when the decoder needs another packet, or after Send(nullptr), when all frames
  // are out.
  virtual absl::StatusOr<bool> Receive(AVFrame* frame) = 0;
  // Returns true if anything was wrong since the last call, even if Send and Receive returned OK.
  // With several threads FFmpeg does not always report an error together with its frame.
  virtual bool TakeErrors() = 0;
  // Returns true if a damaged picture was concealed since the last call. The picture itself may not
  // be marked.
  virtual bool TakeConcealment() { return false; }
  // Forgets everything sent before, to start again at a random access point.
  virtual void Reset() = 0;
  // True when the decoder is sure to decode any stream with the parameters it was opened with
  // exactly as a newly opened decoder would.
  virtual bool CanBeReused() { return false; }
};

// Returns Unimplemented when this FFmpeg has no decoder for the codec, and InvalidArgument when the
// decoder refuses the parameters.
absl::StatusOr<std::unique_ptr<Decoder>> OpenSoftwareDecoder(const AVCodecParameters& codec,
                                                             AVRational time_base,
                                                             const DecoderOptions& options);

// By how many places frames may come later in decoding order than in display order, as far as the
// stream's headers say; 0 if they do not.
int DeclaredReorderDepth(const AVCodecParameters& codec);

// Where HEVC's chroma samples lie, as far as the stream's headers say.
AVChromaLocation DeclaredChromaLocation(const AVCodecParameters& codec);

// True when a decoder opened for `a` is the same as one opened for `b`.
bool SameParameters(const AVCodecParameters& a, const AVCodecParameters& b);

// True when the decoder marked the picture as different from what was encoded.
bool IsDamaged(const AVFrame& frame);

// Keeps software decoders open for the next stream with the same parameters. Thread-safe.
class DecoderCache {
 public:
  // Keeps the latest decoders, up to about `idle_bytes` together, and none longer than `idle_time`.
  // It checks the time whenever a decoder comes back.
  DecoderCache(size_t idle_bytes, std::chrono::steady_clock::duration idle_time)
      : idle_(idle_bytes, SIZE_MAX, idle_time) {}

  // The cache of the process. It is never destroyed.
  static DecoderCache& Shared();

  // As OpenSoftwareDecoder. When the returned decoder is destroyed and CanBeReused, it goes back to
  // the cache, which must still exist.
  absl::StatusOr<std::unique_ptr<Decoder>> Open(const AVCodecParameters& codec,
                                                AVRational time_base,
                                                const DecoderOptions& options);

  int num_idle() const { return static_cast<int>(idle_.size()); }

 private:
  struct OpenDecoder {
    std::unique_ptr<Decoder> decoder;
    // The arguments that it was opened with.
    AvCodecParametersPtr codec;
    AVRational time_base;
    DecoderOptions options;
    size_t Bytes() const;
  };
  using OpenDecoders = Pool<std::unique_ptr<OpenDecoder>>;
  class Lent;

  OpenDecoders idle_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_DECODER_H_
