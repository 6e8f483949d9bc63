// Writes the packets of one video stream to a container in memory.
#ifndef TF_NVCODEC_CORE_MUX_MUXER_H_
#define TF_NVCODEC_CORE_MUX_MUXER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/encode/encode_options.h"
#include "tf_nvcodec/core/encode/frame_timing.h"
#include "tf_nvcodec/core/mux/memory_output.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace nvc {

class Muxer {
 public:
  // Returns Unimplemented when this machine's FFmpeg lacks the container. `bytes` must outlive the
  // muxer.
  static absl::StatusOr<std::unique_ptr<Muxer>> Create(const EncodeOptions& options,
                                                       GrowingBytes* bytes);
  ~Muxer();
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;

  // True if the container stores the stream's parameter sets itself.
  bool wants_global_header() const;
  // Writes the header for a stream that `encoder` makes. `first` is the stream's first packet.
  absl::Status Start(const AVCodecContext& encoder, const FrameTiming& timing,
                     const AVPacket& first);
  // Writes a packet and takes its data. Packets come in decoding order, with times in the encoder's
  // time base.
  absl::Status Write(AVPacket* packet);
  // Writes the trailer and gives `bytes` its final size.
  absl::Status Finish();

 private:
  Muxer(const EncodeOptions& options, std::unique_ptr<MemoryOutput> output)
      : options_(options), output_(std::move(output)) {}
  static int OpenForReading(AVFormatContext* context, AVIOContext** io, const char* url, int flags,
                            AVDictionary** dictionary);
  static int CloseReader(AVFormatContext* context, AVIOContext* io);

  const EncodeOptions options_;
  std::unique_ptr<MemoryOutput> output_;
  AVFormatContext* context_ = nullptr;
  AVStream* stream_ = nullptr;
  AVRational time_base_ = {0, 1};
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_MUXER_H_
