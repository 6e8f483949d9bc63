// Opens a video container and returns the packets of its video stream, and of its sound if wanted.
// The bytes come from a ByteSource; FFmpeg opens no file or URL itself.
#ifndef TF_NVCODEC_CORE_DEMUX_DEMUXER_H_
#define TF_NVCODEC_CORE_DEMUX_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/demux/declared_samples.h"
#include "tf_nvcodec/core/demux/sample_table.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/format/orientation.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

// An audio stream of a container. Its packets can be passed on without decoding.
struct SoundTrack {
  AvCodecParametersPtr codec;
  AVRational time_base{0, 1};
  int index = 0;         // index among the container's streams
  std::string language;  // as in the container, e.g. "eng"; "" when it has none
};

// What the container says about its video stream.
struct StreamInfo {
  std::string container;  // FFmpeg's demuxer name, e.g. "mov,mp4,m4a,3gp,3g2,mj2"
  AvCodecParametersPtr codec;
  AVRational time_base{0, 1};
  AVRational frame_rate{0, 1};           // average; 0/1 when unknown
  AVRational lowest_rate{0, 1};          // that fits all timestamps, FFmpeg's guess; 0/1: unknown
  AVRational sample_aspect_ratio{0, 1};  // 0/1 when unknown
  Orientation orientation;               // of a stored frame, for display
  // The display matrix if it is none that an Orientation stands for, as "a b c d". Such frames are
  // shown as they are stored.
  std::string odd_matrix;
  bool has_audio = false;
  int index = 0;  // index among the container's streams
};

// What opening a source may take. 0 means no limit.
struct DemuxLimits {
  int64_t max_pixels = 0;   // of a picture that FFmpeg decodes to learn the stream's parameters
  int64_t max_packets = 0;  // see DeclaredSamples
};

class Demuxer {
 public:
  // How much of the stream to examine before its first packet. kEverything also tells the sample
  // format and an estimate of the frame delay when only decoding the first frames gives them.
  enum class Look { kHeaders, kEverything };

  // Returns InvalidArgument for empty sources, unknown containers and containers without video,
  // DataLoss for a container that ends before its first packet, and ResourceExhausted if an MP4
  // declares more than DeclaredSamples allows for max_packets. So may Next. `source` must outlive
  // the demuxer.
  static absl::StatusOr<std::unique_ptr<Demuxer>> Open(const ByteSource& source,
                                                       const Cancelled& cancelled,
                                                       Look look = Look::kHeaders,
                                                       const DemuxLimits& limits = {});
  ~Demuxer();

  const StreamInfo& stream() const { return stream_; }
  // Call it after the last packet: the demuxer can't be used any more.
  StreamInfo TakeStream() { return std::move(stream_); }

  // Whether FFmpeg has decoded the first frames to learn the stream's parameters. With kHeaders it
  // has not where the header has all.
  bool looked_at_frames() const { return looked_at_frames_; }
  // Returns where the stream's packets lie in the source; empty when the header does not tell.
  SampleTable Samples() const { return SampleTable(*format_, stream_index_, *source_); }
  // Reads from another source from now on, each sample with a read of its own. Only the bodies of
  // the samples may differ there. A packet gets AV_PKT_FLAG_CORRUPT if the source has fewer bytes
  // of it than the container says.
  void ReadFrom(std::unique_ptr<const ByteSource> source) {
    other_source_ = std::move(source);
    source_ = other_source_.get();
    io_->direct = 1;
  }

  // Keeps FFmpeg's parsers from looking into packets for what the container does not say. Call it
  // before the first packet.
  void DoNotParse() { format_->flags |= AVFMT_FLAG_NOPARSE; }

  // Returns the audio streams in the container's order.
  absl::StatusOr<std::vector<SoundTrack>> Sound() const;
  // Makes Next return audio packets too. Their stream_index is not stream().index.
  void KeepSound();

  // Reads the next packet of the video stream in file order. Returns false at the end. A container
  // damaged in the middle ends early, and damage() says why.
  absl::StatusOr<bool> Next(AVPacket* packet);
  const std::string& damage() const { return damage_; }
  // The first failure of the source itself. The packets before it need not be all there are.
  const absl::Status& read_error() const { return read_error_; }

  // Makes Next continue at the last key frame at or before `timestamp` (in the stream's time base)
  // that the container's index knows, or at the first key frame if there is none. Returns
  // Unimplemented when the source or the container can't go back.
  absl::Status Seek(int64_t timestamp);

 private:
  Demuxer(const ByteSource& source, const Cancelled& cancelled, Look look,
          const DemuxLimits& limits);
  int FindStreamInfo();
  absl::Status Initialize();
  absl::Status SelectStream();
  bool IsSound(int stream_index) const;
  static int ReadCallback(void* opaque, uint8_t* buffer, int size);
  static int64_t SeekCallback(void* opaque, int64_t offset, int whence);
  static int InterruptCallback(void* opaque);

  const ByteSource* source_;
  std::unique_ptr<const ByteSource> other_source_;
  Cancelled cancelled_;
  const Look look_;
  const DemuxLimits limits_;
  DeclaredSamples declared_;
  absl::Status over_limit_;
  int64_t position_ = 0;
  AVIOContext* io_ = nullptr;
  AVFormatContext* format_ = nullptr;
  int stream_index_ = -1;
  StreamInfo stream_;
  int64_t packets_ = 0;  // read so far, of all streams
  std::string damage_;
  absl::Status read_error_;
  bool wants_key_ = false;  // set by Seek: Next skips to a key frame
  bool keeps_sound_ = false;
  bool looked_at_frames_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_DEMUXER_H_
