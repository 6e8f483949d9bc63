// When frames are shown whose packets don't say it, as those of AVI.
#ifndef TF_NVCODEC_CAPI_OUTPUT_TIMES_H_
#define TF_NVCODEC_CAPI_OUTPUT_TIMES_H_

#include <cstdint>
#include <deque>

#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// As FFmpeg's decoders tell: a frame has the dts of the packet with which it comes out, which is
// `delay` packets after its own place in the order shown; the last ones have none.
class OutputTimes {
 public:
  explicit OutputTimes(int delay) : delay_(delay) {}

  void Sent(const AVPacket& packet);
  // Of the next frame in the order shown that has none; AV_NOPTS_VALUE: it can't be told.
  int64_t Next();

 private:
  size_t delay_;
  std::deque<int64_t> dts_;  // of packets without pts whose frame is not out
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_OUTPUT_TIMES_H_
