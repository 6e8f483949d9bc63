#include "tf_nvcodec/core/decode/video_info.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/base/status.h"
#include "tf_nvcodec/core/decode/frame_stream.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace nvc {
namespace {

// Copies the properties of the first decoded picture to a VideoInfo.
class FirstPicture : public FrameSink {
 public:
  explicit FirstPicture(VideoInfo* info) : info_(info) {}

  void Start(int) override {}
  absl::Status Write(int, int, const AVFrame& picture) override {
    info_->width = picture.width;
    info_->height = picture.height;
    SetFormat(static_cast<AVPixelFormat>(picture.format));
    SetColor(picture);
    if (picture.sample_aspect_ratio.num > 0) {
      info_->sample_aspect_ratio = av_q2d(picture.sample_aspect_ratio);
    }
    return absl::OkStatus();
  }

 private:
  void SetFormat(AVPixelFormat format) {
    const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
    if (description == nullptr) return;
    info_->pixel_format = description->name;
    info_->bit_depth = description->comp[0].depth;
  }

  void SetColor(const AVFrame& picture) {
    const AVColorRange range = picture.color_range;
    if (picture.colorspace != AVCOL_SPC_UNSPECIFIED) {
      info_->color_space = av_color_space_name(picture.colorspace);
    }
    if (range == AVCOL_RANGE_MPEG) info_->color_range = "limited";
    if (range == AVCOL_RANGE_JPEG) info_->color_range = "full";
    if (picture.color_primaries != AVCOL_PRI_UNSPECIFIED) {
      SetName(av_color_primaries_name(picture.color_primaries), &info_->color_primaries);
    }
    if (picture.color_trc != AVCOL_TRC_UNSPECIFIED) {
      SetName(av_color_transfer_name(picture.color_trc), &info_->color_transfer);
    }
  }

  // Numbers between those of the standard's table have no name.
  static void SetName(const char* name, std::string* to) {
    if (name != nullptr) *to = name;
  }

  VideoInfo* const info_;
};

}  // namespace

absl::StatusOr<VideoInfo> ProbeVideo(const ByteSource& source, const FrameIndex::Limits& limits,
                                     const Cancelled& cancelled) {
  NVC_ASSIGN_OR_RETURN(const FrameIndex index, FrameIndex::Build(source, limits, cancelled));
  const StreamInfo& stream = index.stream();
  VideoInfo info;
  info.num_frames = index.num_frames();
  info.fps = index.frame_rate();
  info.duration = index.duration();
  info.codec = avcodec_get_name(stream.codec->codec_id);
  info.orientation = stream.orientation;
  info.odd_matrix = stream.odd_matrix;
  info.has_audio = stream.has_audio;
  info.color_space = info.color_range = info.color_primaries = info.color_transfer = "unknown";
  ReadOptions options;
  options.num_threads = 1;
  options.max_pixels = limits.max_pixels;
  options.cancelled = cancelled;
  FirstPicture first(&info);
  DamagedFrames damaged;
  // When a stream begins with damaged frames, the first good frame tells the size and the format.
  constexpr int64_t kFramesToTry = 100;
  for (int64_t frame = 0; frame < std::min(kFramesToTry, index.num_frames()); ++frame) {
    damaged.clear();
    NVC_RETURN_IF_ERROR(ReadFrames(index, source, {frame}, options, &first, &damaged));
    if (damaged.empty()) break;
  }
  if (info.width == 0) {
    return absl::DataLossError(
        absl::StrCat("contents (", stream.container, ", ", info.codec,
                     ") has no frame that can be decoded: ", damaged.begin()->second.message()));
  }
  if (stream.sample_aspect_ratio.num > 0) {
    info.sample_aspect_ratio = av_q2d(stream.sample_aspect_ratio);
  }
  return info;
}

}  // namespace nvc
