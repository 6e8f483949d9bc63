// Makes FFmpeg's muxers store the times of packets as they are.
#ifndef TF_NVCODEC_CORE_MUX_EXACT_TIMES_H_
#define TF_NVCODEC_CORE_MUX_EXACT_TIMES_H_

#include "tf_nvcodec/core/encode/encode_container.h"

extern "C" {
#include <libavformat/avformat.h>
}

namespace nvc {

// Call it before the container's header is written with `settings`. Packets of the video have times
// in `time_base`.
void StoreExactTimes(const ContainerTraits& container, AVRational time_base,
                     AVFormatContext* context, AVDictionary** settings);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_MUX_EXACT_TIMES_H_
