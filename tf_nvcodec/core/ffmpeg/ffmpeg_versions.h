// Tells which FFmpeg this library was compiled with and which one is loaded.
#ifndef TF_NVCODEC_CORE_FFMPEG_FFMPEG_VERSIONS_H_
#define TF_NVCODEC_CORE_FFMPEG_FFMPEG_VERSIONS_H_

#include <string>
#include <vector>

namespace nvc {

struct LibraryVersion {
  std::string library, build, run;  // e.g. "libavcodec", "59.37.100", "59.37.100"
};

std::vector<LibraryVersion> FfmpegLibraryVersions();
// The release of the loaded libavutil, e.g. "5.1.9-0+deb12u1".
std::string FfmpegRelease();
// The license of the loaded libavformat, e.g. "GPL version 2 or later".
std::string FfmpegLicense();
// Whether FFmpeg is a part of this library, not a shared library of the machine.
bool FfmpegIsInside();
// FFmpeg's names of its decoders or encoders of video, with commas between them.
std::string FfmpegVideoCodecs(bool encoders);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_FFMPEG_FFMPEG_VERSIONS_H_
