#include "tf_nvcodec/core/mux/video_tags.h"

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/format/codec_table.h"

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace nvc {
namespace {

constexpr size_t kMatrixBytes = 9 * sizeof(int32_t);

}  // namespace

VideoTags TagsOf(const StreamInfo& stream) {
  VideoTags tags;
  const AVCodecParameters& codec = *stream.codec;
  tags.primaries = codec.color_primaries;
  tags.transfer = codec.color_trc;
  tags.matrix = codec.color_space;
  tags.range = codec.color_range;
  tags.chroma_location = codec.chroma_location;
  tags.sample_aspect_ratio = stream.sample_aspect_ratio;
  tags.orientation = stream.orientation;
  return tags;
}

absl::StatusOr<BitstreamFilter> TaggingFilter(const VideoTags& tags,
                                              const AVCodecParameters& stream,
                                              AVRational time_base) {
  const bool av1 = stream.codec_id == AV_CODEC_ID_AV1;
  BitstreamFilter::Options options;
  const auto add = [&](const char* h26x, const char* of_av1, int value) {
    const char* const name = av1 ? of_av1 : h26x;
    if (name != nullptr) options.emplace_back(name, absl::StrCat(value));
  };
  if (tags.primaries != AVCOL_PRI_UNSPECIFIED) {
    add("colour_primaries", "color_primaries", tags.primaries);
  }
  if (tags.transfer != AVCOL_TRC_UNSPECIFIED) {
    add("transfer_characteristics", "transfer_characteristics", tags.transfer);
  }
  // The encoded frames are Y'CbCr even if the source was RGB.
  if (tags.matrix != AVCOL_SPC_UNSPECIFIED && tags.matrix != AVCOL_SPC_RGB) {
    add("matrix_coefficients", "matrix_coefficients", tags.matrix);
  }
  if (tags.range != AVCOL_RANGE_UNSPECIFIED) {
    add("video_full_range_flag", "color_range", tags.range == AVCOL_RANGE_JPEG ? 1 : 0);
  }
  // A stream without this tag means left, so that left needs no tag.
  if (tags.chroma_location > AVCHROMA_LOC_LEFT) {
    add("chroma_sample_loc_type", nullptr, tags.chroma_location - 1);
  }
  const AVRational shape = tags.sample_aspect_ratio;
  if (shape.num > 0 && shape.den > 0 && !av1) {
    options.emplace_back("sample_aspect_ratio", absl::StrCat(shape.num, "/", shape.den));
  }
  const char* const filter = FactsOf(stream.codec_id).encoding.tag_filter;
  if (filter == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "packets of codec '", avcodec_get_name(stream.codec_id), "' have no room for colour tags"));
  }
  return BitstreamFilter::Create(filter, stream, time_base, options);
}

absl::Status TagStream(const VideoTags& tags, AVStream* stream) {
  AVCodecParameters& codec = *stream->codecpar;
  codec.color_primaries = tags.primaries;
  codec.color_trc = tags.transfer;
  if (tags.matrix != AVCOL_SPC_RGB) codec.color_space = tags.matrix;
  codec.color_range = tags.range;
  codec.chroma_location = tags.chroma_location;
  codec.sample_aspect_ratio = stream->sample_aspect_ratio = tags.sample_aspect_ratio;
  if (tags.orientation == Orientation{}) return absl::OkStatus();
  uint8_t* const matrix = NewDisplayMatrix(kMatrixBytes, stream);
  if (matrix == nullptr) return absl::ResourceExhaustedError("out of memory for a stream");
  SetDisplayMatrix(tags.orientation, reinterpret_cast<int32_t*>(matrix));
  return absl::OkStatus();
}

}  // namespace nvc
