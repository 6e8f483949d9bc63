// A container's track of sound, whose packets can be passed on as they are.
#ifndef TF_NVCODEC_CORE_DEMUX_SOUND_TRACK_H_
#define TF_NVCODEC_CORE_DEMUX_SOUND_TRACK_H_

#include <string>

#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

struct SoundTrack {
  AvCodecParametersPtr codec;
  AVRational time_base{0, 1};
  int index = 0;         // among the container's streams
  std::string language;  // as the container writes it, e.g. "eng"; "" when it does not say
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_DEMUX_SOUND_TRACK_H_
