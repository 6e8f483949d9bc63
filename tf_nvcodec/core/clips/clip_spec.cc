#include "tf_nvcodec/core/clips/clip_spec.h"

#include <algorithm>
#include <cmath>
#include <string>

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

// Returns the first frame that appears at `seconds` or later.
int64_t FirstFrameFrom(const FrameIndex& index, double seconds) {
  const auto& frames = index.frames();
  const auto found = std::lower_bound(frames.begin(), frames.end(), seconds - kTimeTolerance,
                                      [](const FrameEntry& f, double t) { return f.time < t; });
  return found - frames.begin();
}

std::string Shown(const TimeSegment& segment) {
  return absl::StrCat("[", segment.start, ", ", segment.end, ") s");
}

// The positions of a segment at which frames may be taken.
class Timeline {
 public:
  Timeline(const FrameIndex& index, double period, const TimeSegment& segment)
      : index_(index),
        period_(period),
        segment_(segment),
        first_(FirstFrameFrom(index, segment.start)),
        last_(FirstFrameFrom(index, segment.end) - 1) {
    if (!empty()) origin_ = entry(first_).time;
  }

  bool empty() const { return last_ < first_; }
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  // Makes the first position that of `seconds`, at which `frame` is on screen.
  void BeginAt(int64_t frame, double seconds) {
    first_ = frame;
    origin_ = seconds;
  }

  // Positions from the first to the end of the segment.
  int64_t size() const {
    if (empty()) return 0;
    if (period_ == 0) return last_ - first_ + 1;
    const double end = std::min(entry(last_).time + entry(last_).duration, segment_.end);
    const double positions = std::ceil((end - origin_ - kTimeTolerance) / period_);
    return std::max<int64_t>(1, static_cast<int64_t>(std::min(positions, kMostPositions)));
  }

  int64_t FrameAt(int64_t position) const {
    if (period_ == 0) return first_ + position;
    const double time = origin_ + static_cast<double>(position) * period_ + kTimeTolerance;
    const auto begin = index_.frames().begin();
    const auto next =
        std::upper_bound(begin + first_, begin + last_ + 1, time,
                         [](double t, const FrameEntry& frame) { return t < frame.time; });
    return std::max<int64_t>(next - begin - 1, first_);
  }

  // "the video", or its segment in words.
  std::string Name() const {
    return std::isinf(segment_.start) ? "the video" : absl::StrCat("the segment ", Shown(segment_));
  }

  absl::Status NoFrame() const {
    const FrameEntry& end = index_.frames().back();
    return absl::NotFoundError(
        absl::StrCat(Name(), " has no frame: those of the video are in [",
                     index_.frames().front().time, ", ", end.time + end.duration,
                     ") s; correct the segment, or leave such rows out with on_error=\"skip\""));
  }

 private:
  const FrameEntry& entry(int64_t frame) const {
    return index_.frames()[static_cast<size_t>(frame)];
  }

  const FrameIndex& index_;
  const double period_;
  const TimeSegment segment_;
  int64_t first_, last_;  // frames
  double origin_ = 0;     // the time of position 0
};

// Makes the clip that begins at position `start` of `timeline`. kWrap continues on `whole`, the
// timeline of the whole segment.
absl::StatusOr<Clip> Cut(const ClipSpec& spec, const Timeline& timeline, int64_t start,
                         const Timeline& whole) {
  const int64_t size = timeline.size();
  if (spec.pad == ClipPad::kDrop && start + spec.Span() > size) {
    return absl::NotFoundError(absl::StrCat(
        timeline.Name(), " has ", size, " positions, but a clip that begins at position ", start,
        " needs ", start + spec.Span(), "; pad=\"repeat\", \"wrap\" or \"zero\" fills the clip"));
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

absl::Status TimeSegment::Validate() const {
  if (start >= 0 && start < end) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the segment ", Shown(*this), " needs 0 <= start < end; an end of None is the video's"));
}

int64_t ClipSpec::CountAll(const FrameIndex& index, const TimeSegment& segment) const {
  const int64_t size = Timeline(index, period, segment).size();
  if (size < Span()) return pad == ClipPad::kDrop ? 0 : 1;
  return (size - Span()) / step + 1;
}

absl::StatusOr<Clip> ClipSpec::Select(const FrameIndex& index, int64_t clip, uint64_t seed,
                                      const TimeSegment& segment) const {
  const Timeline timeline(index, period, segment);
  if (timeline.empty()) return timeline.NoFrame();
  const int64_t last_start = std::max<int64_t>(timeline.size() - Span(), 0);
  const int64_t count = sampling == ClipSampling::kAll ? CountAll(index, segment) : clips_per_video;
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

absl::StatusOr<Clip> ClipSpec::SelectAt(const FrameIndex& index, double seconds, double tolerance,
                                        const TimeSegment& segment) const {
  const double slack = std::max(tolerance, kTimeTolerance);
  if (seconds < segment.start - slack || seconds >= segment.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("clip_at has ", seconds, " s, which is outside the row's segment ",
                     Shown(segment), ": clip_at counts from the beginning of the video"));
  }
  const Timeline whole(index, period, segment);
  if (whole.empty()) return whole.NoFrame();
  NVC_ASSIGN_OR_RETURN(int64_t frame, index.FrameAt(seconds, tolerance));
  frame = std::clamp(frame, whole.first(), whole.last());
  if (period == 0) return Cut(*this, whole, frame - whole.first(), whole);
  Timeline rest = whole;
  // The frame's time is the one that was meant, if it is a little later.
  rest.BeginAt(frame, std::max(seconds, index.frames()[static_cast<size_t>(frame)].time));
  return Cut(*this, rest, 0, whole);
}

}  // namespace nvc
