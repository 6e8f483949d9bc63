// Keeps decoders open for a while when their stream is done, for the next stream of the same kind.
// Opening a decoder and filling its memory takes about an eighth of the time of a short decode.
#ifndef TF_NVCODEC_CORE_FFMPEG_DECODER_CACHE_H_
#define TF_NVCODEC_CORE_FFMPEG_DECODER_CACHE_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

namespace nvc {

// Thread-safe.
class DecoderCache {
 public:
  using Clock = std::chrono::steady_clock;

  // Keeps the latest decoders, up to about `idle_bytes` together, and none longer than `idle_time`.
  // It checks the time whenever a decoder comes back.
  DecoderCache(size_t idle_bytes, Clock::duration idle_time)
      : max_idle_bytes_(idle_bytes), max_idle_time_(idle_time) {}
  ~DecoderCache();
  DecoderCache(const DecoderCache&) = delete;
  DecoderCache& operator=(const DecoderCache&) = delete;

  // The cache of the process. It is never destroyed.
  static DecoderCache& Shared();

  // As OpenSoftwareDecoder. When the returned decoder is destroyed and CanBeReused, it goes back to
  // the cache, which must still exist.
  absl::StatusOr<std::unique_ptr<Decoder>> Open(const AVCodecParameters& codec,
                                                AVRational time_base,
                                                const DecoderOptions& options);

  int num_idle() const;

 private:
  struct OpenDecoder {
    std::unique_ptr<Decoder> decoder;
    // The arguments that it was opened with.
    AvCodecParametersPtr codec;
    AVRational time_base;
    DecoderOptions options;
    Clock::time_point idle_since;
    size_t Bytes() const;
  };
  class Lent;

  std::unique_ptr<OpenDecoder> Take(const AVCodecParameters& codec, AVRational time_base,
                                    const DecoderOptions& options);
  void Give(std::unique_ptr<OpenDecoder> decoder);

  const size_t max_idle_bytes_;
  const Clock::duration max_idle_time_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<OpenDecoder>> idle_;  // the longest idle first
  size_t idle_bytes_ = 0;
  pid_t process_ = 0;  // the process that the idle decoders and their threads belong to
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_DECODER_CACHE_H_
