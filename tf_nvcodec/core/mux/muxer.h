// Packets of one video stream into a container in memory.
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
  // Unimplemented when this machine's FFmpeg lacks the container. `bytes` must outlive the muxer.
  static absl::StatusOr<std::unique_ptr<Muxer>> Create(const EncodeOptions& options,
                                                       GrowingBytes* bytes);
  ~Muxer();
  Muxer(const Muxer&) = delete;
  Muxer& operator=(const Muxer&) = delete;

  // Whether the container keeps the stream's parameter sets itself.
  bool wants_global_header() const;
  // Writes the header of a stream as `encoder` makes it, whose first packet is `first`.
  absl::Status Start(const AVCodecContext& encoder, const FrameTiming& timing,
                     const AVPacket& first);
  // Takes the packet's data, with times in the encoder's time base, in decoding order.
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
