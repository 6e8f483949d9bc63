// A container's track of sound, whose packets can be passed on as they are.
#ifndef TF_NVCODEC_CORE_DEMUX_DEMUXER_H_
#define TF_NVCODEC_CORE_DEMUX_DEMUXER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/demux/sample_table.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

struct SoundTrack {
  AvCodecParametersPtr codec;
  AVRational time_base{0, 1};
  int index = 0;         // among the container's streams
  std::string language;  // as the container writes it, e.g. "eng"; "" when it does not say
};

// What the container says of its video stream.
struct StreamInfo {
  std::string container;  // FFmpeg's demuxer name, e.g. "mov,mp4,m4a,3gp,3g2,mj2"
  AvCodecParametersPtr codec;
  AVRational time_base{0, 1};
  AVRational frame_rate{0, 1};   // average; 0/1 when unknown
  AVRational lowest_rate{0, 1};  // that has every timestamp, by FFmpeg's guess; 0/1: unknown
  AVRational sample_aspect_ratio{0, 1};  // 0/1 when unknown
  int rotation = 0;                      // degrees clockwise to turn a stored frame for display
  bool has_audio = false;
  int index = 0;  // among the container's streams
};

class Demuxer {
 public:
  // How much to find out of the stream before its first packet. kEverything also tells the sample
  // format and an estimate of the frame delay, where only decoding the first frames does.
  enum class Look { kHeaders, kEverything };

  // InvalidArgument: empty, no known container, or no video stream. DataLoss: a container that
  // breaks off before its first packet. `source` must outlive the demuxer.
  static absl::StatusOr<std::unique_ptr<Demuxer>> Open(const ByteSource& source,
                                                       const Cancelled& cancelled,
                                                       Look look = Look::kHeaders);
  ~Demuxer();

  const StreamInfo& stream() const { return stream_; }
  // After the last packet: the demuxer has no use for it any more.
  StreamInfo TakeStream() { return std::move(stream_); }

  // Where the packets of the video stream will come from, if the header tells.
  SampleTable Samples() const { return SampleTable(*format_, stream_index_, *source_); }
  // From now on reads there, each sample by itself, where all but the samples' bodies must be the
  // same. A packet of which less is there than the container says has AV_PKT_FLAG_CORRUPT.
  void ReadFrom(std::unique_ptr<const ByteSource> source) {
    other_source_ = std::move(source);
    source_ = other_source_.get();
    io_->direct = 1;
  }

  // Before the first packet: no parser looks into packets for what the container does not say.
  void DoNotParse() { format_->flags |= AVFMT_FLAG_NOPARSE; }

  // The tracks of sound, in the container's order.
  absl::StatusOr<std::vector<SoundTrack>> Sound() const;
  // From now on Next gives their packets too, which have another stream_index than stream().index.
  void KeepSound();

  // The next packet of the video stream in file order; false at the end. A container damaged in
  // the middle ends early and damage() says why.
  absl::StatusOr<bool> Next(AVPacket* packet);
  const std::string& damage() const { return damage_; }
  // The first failure of the source itself. What was read before it need not be all there is.
  const absl::Status& read_error() const { return read_error_; }

  // The next packet will be the first one, in the order of the file, of the last key frame at or
  // before `timestamp` that the container's index knows; of the first key frame when none is.
  // Unimplemented where the source or the container has no way back.
  absl::Status Seek(int64_t timestamp);

 private:
  Demuxer(const ByteSource& source, const Cancelled& cancelled, Look look);
  absl::Status Initialize();
  absl::Status SelectStream();
  bool IsSound(int stream_index) const;
  static int ReadCallback(void* opaque, uint8_t* buffer, int size);
  static int64_t SeekCallback(void* opaque, int64_t offset, int whence);

  const ByteSource* source_;
  std::unique_ptr<const ByteSource> other_source_;
  Cancelled cancelled_;
  const Look look_;
  int64_t position_ = 0;
  AVIOContext* io_ = nullptr;
  AVFormatContext* format_ = nullptr;
  int stream_index_ = -1;
  StreamInfo stream_;
  std::string damage_;
  absl::Status read_error_;
  bool wants_key_ = false;  // after a seek
  bool keeps_sound_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_DEMUXER_H_
