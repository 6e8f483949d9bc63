// Sets when each frame is shown and for how long. Where the stream has no pts, its frame rate
// spaces the frames.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tf_nvcodec/core/index/index_steps.h"

namespace nvc {
namespace {

// Returns how long the frame's packets say that it lasts, in units of the time base.
int64_t TicksOf(const FrameEntry& frame, const std::vector<PacketEntry>& packets) {
  const auto ticks = [&](size_t i) {
    return std::clamp<int64_t>(packets[i].duration, 0, INT64_MAX / 2);
  };
  const auto first = static_cast<size_t>(frame.packet);
  const bool has_second = first + 1 < packets.size() && packets[first + 1].second_field;
  return ticks(first) + (has_second ? ticks(first + 1) : 0);
}

// Returns the seconds from one frame to the next. When there are no pts, dts tell this better than
// the header, whose rate may be that of the container's clock.
double Interval(const IndexParts& parts, bool has_pts) {
  const double tick = av_q2d(parts.stream.time_base);
  const auto begins_frame = [](const PacketEntry& packet) { return !packet.second_field; };
  const auto& packets = parts.packets;
  const PacketEntry& first = packets.front();
  const PacketEntry& last = *std::find_if(packets.rbegin(), packets.rend(), begins_frame);
  const auto begun = std::count_if(packets.begin(), packets.end(), begins_frame);
  double from_dts = 0;
  if (begun > 1 && first.dts != AV_NOPTS_VALUE && last.dts > first.dts) {
    // The difference may not fit in 64 bits.
    const double ticks = static_cast<double>(last.dts) - static_cast<double>(first.dts);
    from_dts = ticks * tick / static_cast<double>(begun - 1);
  }
  const AVRational tagged = parts.stream.frame_rate;
  double from_tag = tagged.num > 0 && tagged.den > 0 ? av_q2d(av_inv_q(tagged)) : 0;
  const double from_duration = static_cast<double>(TicksOf(parts.frames[0], packets)) * tick;
  // FFmpeg measures the rate of a stream without timestamps, and counts some fields as frames.
  const bool counts_fields = begun < static_cast<int64_t>(packets.size());
  if (!has_pts && counts_fields && from_duration > 0) from_tag = from_duration;
  constexpr double kDefault = 1.0 / 25;  // as in FFmpeg for streams without timing
  for (const double seconds :
       {has_pts ? from_tag : from_dts, has_pts ? from_dts : from_tag, from_duration}) {
    if (seconds > 0) return seconds;
  }
  return kDefault;
}

double FrameRate(const std::vector<FrameEntry>& frames, double interval, double tick) {
  const double span = frames.back().time - frames.front().time;
  if (frames.size() < 2 || span <= 0) return 1.0 / interval;
  // Timestamps are rounded to the container's clock. They may measure 23.9757 where the tag is
  // exact, and are further off when there are only a few frames.
  constexpr double kTagTolerance = 1e-3, kMostOfAnInterval = 0.05;
  const auto intervals = static_cast<double>(frames.size() - 1);
  const double off = std::abs(span - intervals * interval);
  const double rounding = std::min(tick, kMostOfAnInterval * interval);
  const bool as_tagged = off <= std::max(kTagTolerance * span, rounding);
  return as_tagged ? 1.0 / interval : intervals / span;
}

}  // namespace

void SetTimes(const std::vector<ShownFrame>& shown, IndexParts* parts) {
  auto& frames = parts->frames;
  const AVRational base = parts->stream.time_base;
  const double tick = av_q2d(base);
  const auto has_pts = [](const ShownFrame& frame) { return frame.pts != AV_NOPTS_VALUE; };
  // This rounds only once: 1.2 s comes out as the double nearest to 1.2.
  const auto seconds = [&](const ShownFrame& frame) {
    return static_cast<double>(frame.pts) * base.num / base.den;
  };
  const double interval = Interval(*parts, has_pts(shown[0]));
  const auto first = std::find_if(shown.begin(), shown.end(), has_pts);
  for (size_t i = 0; i < frames.size(); ++i) {
    if (has_pts(shown[i])) {
      frames[i].pts = seconds(shown[i]);
    } else if (i > 0) {
      frames[i].pts = frames[i - 1].pts + interval;
    } else if (first != shown.end()) {
      frames[i].pts = seconds(*first) - static_cast<double>(first - shown.begin()) * interval;
    }
  }
  double time = -std::numeric_limits<double>::infinity();
  for (FrameEntry& frame : frames) frame.time = time = std::max(time, frame.pts);
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    frames[i].duration = frames[i + 1].time - frames[i].time;
  }
  const int64_t last_ticks = TicksOf(frames.back(), parts->packets);
  frames.back().duration = last_ticks > 0 ? static_cast<double>(last_ticks) * tick : interval;
  parts->frame_rate = FrameRate(frames, interval, tick);
}

}  // namespace nvc
