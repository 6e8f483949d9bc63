// Computes timestamps of frames whose packets have no pts, such as those of AVI.
#ifndef TF_NVCODEC_CAPI_OUTPUT_TIMES_H_
#define TF_NVCODEC_CAPI_OUTPUT_TIMES_H_

#include <cstdint>
#include <deque>

#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {

// Follows FFmpeg's decoders: a frame gets the dts of the packet with which it comes out. That
// packet comes `delay` packets after the frame's own place in display order, so the last frames get
// no time.
class OutputTimes {
 public:
  explicit OutputTimes(int delay) : delay_(delay) {}

  void Sent(const AVPacket& packet);
  // Returns the time of the next frame, in display order, without a pts. Returns AV_NOPTS_VALUE if
  // it can't be known.
  int64_t Next();

 private:
  size_t delay_;
  std::deque<int64_t> dts_;  // of packets without pts whose frames are still to come
};

}  // namespace nvc

#endif  // TF_NVCODEC_CAPI_OUTPUT_TIMES_H_
