// Carries a video's colour, orientation and pixel shape from one file to another.
#ifndef TF_NVCODEC_CORE_MUX_VIDEO_TAGS_H_
#define TF_NVCODEC_CORE_MUX_VIDEO_TAGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

struct VideoTags {
  AVColorPrimaries primaries = AVCOL_PRI_UNSPECIFIED;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  AVChromaLocation chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  AVRational sample_aspect_ratio{0, 1};  // 0/1: unknown
  Orientation orientation;               // of a stored frame, for display

  VideoTags WithoutColors() const {
    VideoTags tags;
    tags.sample_aspect_ratio = sample_aspect_ratio;
    tags.orientation = orientation;
    return tags;
  }
};

VideoTags TagsOf(const StreamInfo& stream);

// Makes a filter that writes the tags into the packets of an H.264, HEVC or AV1 stream. AV1 has no
// field for the pixel's shape, and none of the three has one for the orientation.
absl::StatusOr<BitstreamFilter> TaggingFilter(const VideoTags& tags,
                                              const AVCodecParameters& stream,
                                              AVRational time_base);
// Writes the tags into the container's description of `stream`. Call it before the container's
// header is written.
absl::Status TagStream(const VideoTags& tags, AVStream* stream);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_VIDEO_TAGS_H_
