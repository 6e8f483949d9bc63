// Writes encoded packets of one video stream, from any encoder, to a container file. Audio packets
// of another file can go beside them.
#ifndef TF_NVCODEC_CORE_MUX_FILE_MUXER_H_
#define TF_NVCODEC_CORE_MUX_FILE_MUXER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/encode/encode_container.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"
#include "tf_nvcodec/core/mux/video_tags.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

struct FileMuxerSpec {
  std::string path;  // an existing file is overwritten
  EncodeContainer container = EncodeContainer::kMp4;
  EncodeCodec codec = EncodeCodec::kH264;
  int width = 0, height = 0;
  AVRational time_base = {1, 90000};
  AVRational frame_rate = {0, 1};  // {0, 1}: frames are spaced unevenly
  // Parameter sets from the encoder. If the first packet has parameter sets, those are used
  // instead.
  std::string parameter_sets;
};

class FileMuxer {
 public:
  // Opens the file. Returns InvalidArgument when the container can't hold the codec, and NotFound
  // or PermissionDenied when the file can't be written. It only ever opens a file, even if the path
  // looks like a URL.
  static absl::StatusOr<std::unique_ptr<FileMuxer>> Create(const FileMuxerSpec& spec);
  // Unless Finish was called, the file lacks its end.
  ~FileMuxer();
  FileMuxer(const FileMuxer&) = delete;
  FileMuxer& operator=(const FileMuxer&) = delete;

  // Sets the tags of the stream and the container. Call it before the first packet.
  void SetTags(const VideoTags& tags) { tags_ = tags; }
  // Adds an audio stream. Call it before the first packet. Returns InvalidArgument when the
  // container can't hold the codec.
  absl::Status AddSound(const SoundTrack& track);

  // Writes a packet of the elementary stream (Annex B, or temporal units of OBUs). Packets come in
  // decoding order, with times in the spec's time base. Returns InvalidArgument unless dts rises
  // and is no later than pts. If the first packet can't begin the file, all later packets fail with
  // its error.
  absl::Status Write(const void* data, size_t size, int64_t pts, int64_t dts, int64_t duration,
                     bool key);
  // Writes a packet of an audio stream that was added. The first video packet must come before. Its
  // time is moved back by `start`, in the video's time base.
  absl::Status WriteSound(const AVPacket& packet, int64_t start);
  // Writes the end of the file. Returns InvalidArgument when there was no packet.
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
  std::map<int, Sound> sound_;  // by stream index in the source container
  std::optional<VideoTags> tags_;
  std::optional<BitstreamFilter> tagging_;
  int64_t packets_ = 0, last_dts_ = 0;
  absl::Status failed_;  // the error of beginning the file
  bool finished_ = false;
  absl::Status finish_status_;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_FILE_MUXER_H_
