// Decoders that stay open for a while when their stream is done: opening one and filling its memory
// costs a short decode an eighth of its time.
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

  // Keeps decoders of about `idle_bytes` at most, the latest ones, and none longer than
  // `idle_time`, which is checked whenever one comes back.
  DecoderCache(size_t idle_bytes, Clock::duration idle_time)
      : max_idle_bytes_(idle_bytes), max_idle_time_(idle_time) {}
  ~DecoderCache();
  DecoderCache(const DecoderCache&) = delete;
  DecoderCache& operator=(const DecoderCache&) = delete;

  // That of the process; it is never destroyed.
  static DecoderCache& Shared();

  // As OpenSoftwareDecoder. A decoder that IsAsNew comes back on its destruction, which must be
  // before the cache's.
  absl::StatusOr<std::unique_ptr<Decoder>> Open(const AVCodecParameters& codec,
                                                AVRational time_base,
                                                const DecoderOptions& options);

  int num_idle() const;

 private:
  struct OpenDecoder {
    std::unique_ptr<Decoder> decoder;
    // What it was opened with.
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
  pid_t process_ = 0;  // that the idle ones, and their threads, are in
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_DECODER_CACHE_H_
