// When each frame of a video is shown, as whole ticks of a time base that a container can store.
#ifndef TF_NVCODEC_CORE_ENCODE_FRAME_TIMING_H_
#define TF_NVCODEC_CORE_ENCODE_FRAME_TIMING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tf_nvcodec/core/encode/encode_container.h"

extern "C" {
#include <libavutil/rational.h>
}

namespace nvc {

class FrameTiming {
 public:
  // InvalidArgument unless fps is finite and in [0.001, 100000].
  static absl::StatusOr<FrameTiming> FromFps(double fps);
  // `seconds`: one time a frame, strictly increasing, from 0 on. Evenly spaced times that start at
  // a whole number of frames give the same timing as FromFps. `fps` stands in for the rate of a
  // single frame. InvalidArgument names the first time at fault, or what the container can't store.
  static absl::StatusOr<FrameTiming> FromSeconds(absl::Span<const double> seconds, double fps,
                                                 EncodeContainer container);

  // Mean rate where the frames are spaced unevenly.
  AVRational frame_rate() const { return frame_rate_; }
  AVRational time_base() const { return time_base_; }
  bool constant() const { return ticks_.empty(); }
  int64_t first() const { return constant() ? first_ : ticks_.front(); }

  // Of frame `index`, in ticks of the time base.
  int64_t Pts(int64_t index) const { return constant() ? first_ + index : ticks_[index]; }
  // How long the frame shown at `pts` lasts; the last one lasts as long as the one before it.
  int64_t DurationAt(int64_t pts) const;

 private:
  AVRational frame_rate_ = {0, 1}, time_base_ = {0, 1};
  int64_t first_ = 0;
  std::vector<int64_t> ticks_;  // empty when frames are one tick apart
};

// The rate that `fps` stands for: n * 1000 / 1001 for the NTSC rates as usually written (29.97,
// 23.976, 59.94, ...), else the fraction of smallest denominator within 1e-7 of it.
AVRational RationalRate(double fps);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_TIMING_H_
