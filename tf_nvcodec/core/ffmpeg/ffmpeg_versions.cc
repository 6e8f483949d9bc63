#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
}

namespace nvc {
namespace {

std::string Text(unsigned version) {
  return absl::StrCat(AV_VERSION_MAJOR(version), ".", AV_VERSION_MINOR(version), ".",
                      AV_VERSION_MICRO(version));
}

}  // namespace

std::vector<LibraryVersion> FfmpegLibraryVersions() {
  return {
      {"libavformat", Text(LIBAVFORMAT_VERSION_INT), Text(avformat_version())},
      {"libavcodec", Text(LIBAVCODEC_VERSION_INT), Text(avcodec_version())},
      {"libavutil", Text(LIBAVUTIL_VERSION_INT), Text(avutil_version())},
      {"libswscale", Text(LIBSWSCALE_VERSION_INT), Text(swscale_version())},
  };
}

std::string FfmpegRelease() { return av_version_info(); }

std::string FfmpegLicense() { return avformat_license(); }

bool FfmpegIsInside() { return absl::StrContains(avcodec_configuration(), "--disable-shared"); }

std::string FfmpegVideoCodecs(bool encoders) {
  std::string names;
  void* place = nullptr;
  while (const AVCodec* const codec = av_codec_iterate(&place)) {
    if (codec->type != AVMEDIA_TYPE_VIDEO) continue;
    if ((encoders ? av_codec_is_encoder(codec) : av_codec_is_decoder(codec)) == 0) continue;
    absl::StrAppend(&names, names.empty() ? "" : ",", codec->name);
  }
  return names;
}

}  // namespace nvc
