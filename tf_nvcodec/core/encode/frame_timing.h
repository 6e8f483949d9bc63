// Computes the times of a video's frames in ticks of a time base that the container can store.
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
  // Spaces frames evenly at `fps` frames per second. Returns InvalidArgument unless `fps` is finite
  // and in [0.001, 100000].
  static absl::StatusOr<FrameTiming> FromFps(double fps);
  // `seconds` has one time for each frame, strictly increasing from 0 or later. Evenly spaced times
  // that start at a whole number of frames give the same timing as FromFps. `fps` is the rate if
  // there is only one frame. Returns InvalidArgument, which names the first wrong time or what the
  // container can't store.
  static absl::StatusOr<FrameTiming> FromSeconds(absl::Span<const double> seconds, double fps,
                                                 EncodeContainer container);

  // The mean rate if the frames are spaced unevenly.
  AVRational frame_rate() const { return frame_rate_; }
  AVRational time_base() const { return time_base_; }
  bool constant() const { return ticks_.empty(); }
  int64_t first() const { return constant() ? first_ : ticks_.front(); }

  // The pts of frame `index`, in ticks of the time base.
  int64_t Pts(int64_t index) const { return constant() ? first_ + index : ticks_[index]; }
  // Returns the duration of the frame at `pts`, in ticks. The last frame lasts as long as the one
  // before it.
  int64_t DurationAt(int64_t pts) const;

 private:
  AVRational frame_rate_ = {0, 1}, time_base_ = {0, 1};
  int64_t first_ = 0;
  std::vector<int64_t> ticks_;  // empty if frames are one tick apart
};

// Returns the rate that `fps` means: n * 1000 / 1001 for NTSC rates as usually written (29.97,
// 23.976, 59.94, ...), else the fraction with the smallest denominator within 1e-7 of it.
AVRational RationalRate(double fps);

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_ENCODE_FRAME_TIMING_H_
