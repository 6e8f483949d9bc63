#include "tf_nvcodec/core/clips/clip_spec.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/permutation.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

// Sums of periods are rounded differently from products of time bases. No time base is finer than
// this.
constexpr double kTimeTolerance = 1e-6;  // seconds
// The most positions of a video. Timestamps of a damaged file may be ages apart, and sums must stay
// within 64 bits.
constexpr double kMostPositions = int64_t{1} << 62;

// Computes value * part / whole, for 0 <= part <= whole < 2^31, without a product that exceeds 64
// bits.
int64_t Share(int64_t value, int64_t part, int64_t whole) {
  return value / whole * part + value % whole * part / whole;
}

// The positions of a video at which frames may be taken.
class Timeline {
 public:
  Timeline(const FrameIndex& index, double period, double origin)
      : index_(index), period_(period), origin_(origin) {}

  // Positions from the origin to the end of the video.
  int64_t size() const {
    if (period_ == 0) return index_.num_frames();
    const FrameEntry& last = index_.frames().back();
    const double seconds = last.time + last.duration - origin_ - kTimeTolerance;
    return std::max<int64_t>(
        1, static_cast<int64_t>(std::min(std::ceil(seconds / period_), kMostPositions)));
  }

  int64_t FrameAt(int64_t position) const {
    if (period_ == 0) return position;
    const double time = origin_ + static_cast<double>(position) * period_ + kTimeTolerance;
    const auto& frames = index_.frames();
    const auto next =
        std::upper_bound(frames.begin(), frames.end(), time,
                         [](double t, const FrameEntry& frame) { return t < frame.time; });
    return std::max<int64_t>(next - frames.begin() - 1, 0);
  }

 private:
  const FrameIndex& index_;
  const double period_, origin_;
};

Timeline TimelineOf(const ClipSpec& spec, const FrameIndex& index) {
  return Timeline(index, spec.period, index.frames().front().time);
}

// Makes the clip that begins at position `start` of `timeline`. kWrap continues on `whole`, the
// timeline of the whole video.
absl::StatusOr<Clip> Cut(const ClipSpec& spec, const Timeline& timeline, int64_t start,
                         const Timeline& whole) {
  const int64_t size = timeline.size();
  if (spec.pad == ClipPad::kDrop && start + spec.Span() > size) {
    return absl::NotFoundError(absl::StrCat(
        "the video has ", size, " positions, but a clip that begins at position ", start, " needs ",
        start + spec.Span(), "; pad=\"repeat\", \"wrap\" or \"zero\" fills the clip"));
  }
  Clip clip;
  for (int64_t i = 0; i < spec.length; ++i) {
    const int64_t position = start + i * spec.stride;
    if (position < size) {
      ++clip.own;
      clip.frames.push_back(timeline.FrameAt(position));
    } else if (spec.pad == ClipPad::kZero) {
      ++clip.zeros;
    } else if (spec.pad == ClipPad::kWrap) {
      clip.frames.push_back(whole.FrameAt((position - size) % whole.size()));
    } else {
      clip.frames.push_back(timeline.FrameAt(size - 1));
    }
  }
  return clip;
}

absl::Status AtLeast(const char* name, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be at least ", least, ", got ", value));
}

}  // namespace

absl::StatusOr<ClipSampling> ParseClipSampling(absl::string_view name) {
  if (name == "all") return ClipSampling::kAll;
  if (name == "uniform") return ClipSampling::kUniform;
  if (name == "random") return ClipSampling::kRandom;
  if (name == "center") return ClipSampling::kCenter;
  if (name == "start") return ClipSampling::kStart;
  if (name == "at") return ClipSampling::kAt;
  return absl::InvalidArgumentError(absl::StrCat(
      "sampling is '", name, "'; it must be one of: all, uniform, random, center, start, at"));
}

absl::StatusOr<ClipPad> ParseClipPad(absl::string_view name) {
  if (name == "drop") return ClipPad::kDrop;
  if (name == "zero") return ClipPad::kZero;
  if (name == "repeat") return ClipPad::kRepeat;
  if (name == "wrap") return ClipPad::kWrap;
  return absl::InvalidArgumentError(
      absl::StrCat("pad is '", name, "'; it must be one of: drop, zero, repeat, wrap"));
}

absl::Status ClipSpec::Validate() const {
  NVC_RETURN_IF_ERROR(AtLeast("clip_length", length, 1));
  NVC_RETURN_IF_ERROR(AtLeast("stride", stride, 1));
  NVC_RETURN_IF_ERROR(AtLeast("clip_step", step, 1));
  NVC_RETURN_IF_ERROR(AtLeast("clips_per_video", clips_per_video, 1));
  // This keeps the products of two of them, and their sums, within 64 bits.
  constexpr int64_t kMost = int64_t{1} << 30;
  if (std::max({length, stride, step, clips_per_video}) > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip_length, stride, clip_step and clips_per_video must be at most ", kMost));
  }
  if (!std::isfinite(period) || period < 0 || (period > 0 && period < kTimeTolerance)) {
    return absl::InvalidArgumentError(absl::StrCat("the time between frames must be at least ",
                                                   kTimeTolerance, " s, got ", period));
  }
  const bool one = sampling == ClipSampling::kCenter || sampling == ClipSampling::kStart;
  if (one && clips_per_video != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampling=\"center\" and \"start\" take one clip of each video, but clips_per_video is ",
        clips_per_video, "; use sampling=\"uniform\" for several clips"));
  }
  return absl::OkStatus();
}

int64_t ClipSpec::CountAll(const FrameIndex& index) const {
  const int64_t size = TimelineOf(*this, index).size();
  if (size < Span()) return pad == ClipPad::kDrop ? 0 : 1;
  return (size - Span()) / step + 1;
}

absl::StatusOr<Clip> ClipSpec::Select(const FrameIndex& index, int64_t clip, uint64_t seed) const {
  const Timeline timeline = TimelineOf(*this, index);
  const int64_t last_start = std::max<int64_t>(timeline.size() - Span(), 0);
  const int64_t count = sampling == ClipSampling::kAll ? CountAll(index) : clips_per_video;
  if (clip < 0 || clip >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip ", clip, " does not exist: the video now has ", count,
                     " clips, fewer than when they were counted, so its file has changed"));
  }
  int64_t start = 0;
  switch (sampling) {
    case ClipSampling::kAll:
      start = clip * step;
      break;
    case ClipSampling::kUniform:
      // A single clip lies in the middle; several reach from end to end.
      start = count == 1 ? last_start / 2 : Share(last_start, clip, count - 1);
      break;
    case ClipSampling::kRandom:
      start = static_cast<int64_t>(ScaleToBound(HashMix(seed, static_cast<uint64_t>(clip)),
                                                static_cast<uint64_t>(last_start) + 1));
      break;
    case ClipSampling::kCenter:
      start = last_start / 2;
      break;
    case ClipSampling::kStart:
      break;
    case ClipSampling::kAt:
      return absl::InternalError("clips at given times are selected by SelectAt");
  }
  return Cut(*this, timeline, start, timeline);
}

absl::StatusOr<Clip> ClipSpec::SelectAt(const FrameIndex& index, double seconds,
                                        double tolerance) const {
  NVC_ASSIGN_OR_RETURN(const int64_t frame, index.FrameAt(seconds, tolerance));
  // The frame's time is the one that was meant, if it is a little later.
  seconds = std::max(seconds, index.frames()[static_cast<size_t>(frame)].time);
  const Timeline whole = TimelineOf(*this, index);
  return period == 0 ? Cut(*this, whole, frame, whole)
                     : Cut(*this, Timeline(index, period, seconds), 0, whole);
}

}  // namespace nvc
