// Packets of one video stream, whoever encoded them, into a file of a container, and beside them
// sound as it was elsewhere.
#ifndef TF_NVCODEC_CORE_MUX_FILE_MUXER_H_
#define TF_NVCODEC_CORE_MUX_FILE_MUXER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/demux/video_tags.h"
#include "tf_nvcodec/core/encode/encode_container.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

struct FileMuxerSpec {
  std::string path;  // overwritten
  EncodeContainer container = EncodeContainer::kMp4;
  EncodeCodec codec = EncodeCodec::kH264;
  int width = 0, height = 0;
  AVRational time_base = {1, 90000};
  AVRational frame_rate = {0, 1};  // {0, 1}: uneven
  // Parameter sets as the encoder gives them; those of the first packet, where it has some, count.
  std::string parameter_sets;
};

class FileMuxer {
 public:
  // InvalidArgument when the container can't hold the codec; NotFound or PermissionDenied when the
  // file can't be written. Only a file is ever opened, whatever the path reads like.
  static absl::StatusOr<std::unique_ptr<FileMuxer>> Create(const FileMuxerSpec& spec);
  // Leaves the file without its end unless Finish was called.
  ~FileMuxer();
  FileMuxer(const FileMuxer&) = delete;
  FileMuxer& operator=(const FileMuxer&) = delete;

  // Before the first packet: the tags of the stream and of the container.
  void SetTags(const VideoTags& tags) { tags_ = tags; }
  // Before the first packet: a track of sound. InvalidArgument when the container can't hold it.
  absl::Status AddSound(const SoundTrack& track);

  // A packet of the elementary stream (Annex B, temporal units of OBUs), in decoding order, with
  // times in the time base. InvalidArgument unless dts rises and is no later than pts. Where the
  // first packet could not begin the file, all later ones fail as it did.
  absl::Status Write(const void* data, size_t size, int64_t pts, int64_t dts, int64_t duration,
                     bool key);
  // A packet of a track that was added, after the first one of the video; its time is moved back by
  // `start`, in the time base.
  absl::Status WriteSound(const AVPacket& packet, int64_t start);
  // InvalidArgument when there was no packet.
  absl::Status Finish();

 private:
  explicit FileMuxer(const FileMuxerSpec& spec) : spec_(spec) {}
  struct Sound {
    AVStream* stream;
    AVRational time_base;
  };

  absl::Status Tag(AVPacket* packet);
  absl::Status Start(const AVPacket& first);
  absl::Status Store(AVPacket* packet);
  absl::Status Error(int averror, absl::string_view doing) const;

  const FileMuxerSpec spec_;
  AVFormatContext* context_ = nullptr;
  AVStream* stream_ = nullptr;
  bool started_ = false;
  std::map<int, Sound> sound_;  // by the index in the container that they come from
  std::optional<VideoTags> tags_;
  std::optional<BitstreamFilter> tagging_;
  int64_t packets_ = 0, last_dts_ = 0;
  absl::Status failed_;  // to begin the file
  bool finished_ = false;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_FILE_MUXER_H_
