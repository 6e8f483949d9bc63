// Replaces colour tags that have no name. Containers and streams store them as numbers, and some of
// FFmpeg's readers copy a number that is none of its enumeration, which C++ may not read as one.
#ifndef TF_NVCODEC_CORE_FFMPEG_COLOR_TAGS_H_
#define TF_NVCODEC_CORE_FFMPEG_COLOR_TAGS_H_

#include <cstring>

extern "C" {
#include <libavcodec/codec_par.h>
#include <libavutil/frame.h>
}

namespace nvc {

// Sets `tag` to `unknown` unless it is one of the `count` values from 0 on.
template <typename Tag>
void KeepKnownTag(Tag* tag, int count, Tag unknown) {
  static_assert(sizeof(Tag) == sizeof(int), "as FFmpeg's enumerations");
  int value = 0;
  std::memcpy(&value, tag, sizeof(value));
  if (value < 0 || value >= count) *tag = unknown;
}

inline void KeepKnownTags(AVFrame* frame) {
  KeepKnownTag(&frame->color_range, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED);
  KeepKnownTag(&frame->color_primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED);
  KeepKnownTag(&frame->color_trc, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED);
  KeepKnownTag(&frame->colorspace, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED);
  KeepKnownTag(&frame->chroma_location, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED);
}

inline void KeepKnownTags(AVCodecParameters* codec) {
  KeepKnownTag(&codec->color_range, AVCOL_RANGE_NB, AVCOL_RANGE_UNSPECIFIED);
  KeepKnownTag(&codec->color_primaries, AVCOL_PRI_NB, AVCOL_PRI_UNSPECIFIED);
  KeepKnownTag(&codec->color_trc, AVCOL_TRC_NB, AVCOL_TRC_UNSPECIFIED);
  KeepKnownTag(&codec->color_space, AVCOL_SPC_NB, AVCOL_SPC_UNSPECIFIED);
  KeepKnownTag(&codec->chroma_location, AVCHROMA_LOC_NB, AVCHROMA_LOC_UNSPECIFIED);
  KeepKnownTag(&codec->field_order, AV_FIELD_BT + 1, AV_FIELD_UNKNOWN);
}

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_COLOR_TAGS_H_
