#include "tf_nvcodec/core/mux/exact_times.h"

extern "C" {
#include <libavutil/dict.h>
}

namespace nvc {

void StoreExactTimes(const ContainerTraits& container, AVRational time_base,
                     AVFormatContext* context, AVDictionary** settings) {
  if (container.is_mp4_like) {
    // The edit list says in ticks of the file's own clock when the first frame is shown. By default
    // these are milliseconds. FFmpeg makes the track's clock in the same way.
    int64_t ticks_per_second = time_base.den;
    while (ticks_per_second < 10000) ticks_per_second *= 2;
    av_dict_set_int(settings, "movie_timescale", ticks_per_second, 0);
  }
  // The clock of MPEG-TS wraps around, so that a dts before 0 is a tick before the wrap. FFmpeg
  // would move all times until the first dts is 0.
  if (container.container == EncodeContainer::kTs) {
    context->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  }
}

}  // namespace nvc
