#include "tf_nvcodec/core/encode/frame_timing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {
namespace {

constexpr double kMinFps = 0.001, kMaxFps = 100000;
constexpr double kMaxSeconds = 1e9;
// Usual time scales. Times that fit none of them exactly use the last one.
constexpr int kTickRates[] = {1000,  12800, 15360, 16000,  24000,  25000,  30000,
                              48000, 60000, 90000, 120000, 360000, 1000000};
constexpr int64_t kMaxTickGap = INT32_MAX;  // limit of MP4's sample durations

// Returns the fraction with the smallest denominator within `tolerance` of `value`.
AVRational SimplestFraction(double value, double tolerance) {
  int denominator = 1;
  while (std::abs(std::round(value * denominator) / denominator - value) > tolerance) ++denominator;
  return {static_cast<int>(std::lround(value * denominator)), denominator};
}

absl::Status CheckFps(double fps) {
  if (std::isfinite(fps) && fps >= kMinFps && fps <= kMaxFps) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("fps must be a finite number from ", kMinFps, " to ", kMaxFps, "; got ", fps));
}

absl::Status CheckSeconds(absl::Span<const double> seconds) {
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (!std::isfinite(seconds[i]) || seconds[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("pts must be finite times from 0 on, in seconds; pts[", i, "] is ",
                       seconds[i], seconds[i] < 0 ? " (subtract pts[0] from all of them)" : ""));
    }
    if (seconds[i] > kMaxSeconds) {
      return absl::InvalidArgumentError(absl::StrCat("pts must be at most ", kMaxSeconds,
                                                     " seconds; pts[", i, "] is ", seconds[i]));
    }
    if (i > 0 && seconds[i] <= seconds[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat("pts must be strictly increasing; pts[", i - 1,
                                                     "] is ", seconds[i - 1], " and pts[", i,
                                                     "] is ", seconds[i]));
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> RoundToTicks(absl::Span<const double> seconds, double ticks_per_second) {
  std::vector<int64_t> ticks;
  ticks.reserve(seconds.size());
  for (const double s : seconds) ticks.push_back(std::llround(s * ticks_per_second));
  return ticks;
}

// Returns whether every time is within a microsecond, and within a thousandth of a tick, of a whole
// tick.
bool FitsTicks(absl::Span<const double> seconds, double ticks_per_second) {
  const double tolerance = std::min(1e-3, 1e-6 * ticks_per_second);
  return std::all_of(seconds.begin(), seconds.end(), [&](double s) {
    const double exact = s * ticks_per_second;
    return std::abs(exact - std::round(exact)) <= tolerance;
  });
}

bool AreConsecutive(const std::vector<int64_t>& ticks) {
  for (size_t i = 1; i < ticks.size(); ++i) {
    if (ticks[i] != ticks[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

AVRational RationalRate(double fps) {
  constexpr double kNtsc = 1000.0 / 1001;
  const double whole = std::round(fps / kNtsc);
  // 29.97 differs from 30000/1001 by 1e-6 of its value, 30 by 1e-3.
  if (whole >= 1 && whole <= 1000 && std::abs(whole * kNtsc - fps) <= 2e-6 * fps) {
    AVRational rate;
    av_reduce(&rate.num, &rate.den, static_cast<int64_t>(whole) * 1000, 1001, INT32_MAX);
    return rate;
  }
  return SimplestFraction(fps, 1e-7 * fps);
}

absl::StatusOr<FrameTiming> FrameTiming::FromFps(double fps) {
  NVC_RETURN_IF_ERROR(CheckFps(fps));
  FrameTiming timing;
  timing.frame_rate_ = RationalRate(fps);
  timing.time_base_ = av_inv_q(timing.frame_rate_);
  return timing;
}

absl::StatusOr<FrameTiming> FrameTiming::FromSeconds(absl::Span<const double> seconds, double fps,
                                                     EncodeContainer container) {
  NVC_RETURN_IF_ERROR(CheckSeconds(seconds));
  const ContainerTraits& traits = TraitsOf(container);
  FrameTiming timing;
  if (seconds.size() > 1) {
    fps = (static_cast<double>(seconds.size()) - 1) / (seconds.back() - seconds.front());
    if (!(fps >= kMinFps && fps <= kMaxFps)) {
      return absl::InvalidArgumentError(
          absl::StrCat("pts must be spaced by 0.00001 to 1000 seconds on average; ", seconds.size(),
                       " frames from ", seconds.front(), " s to ", seconds.back(), " s are ", fps,
                       " frames a second"));
    }
  }
  NVC_ASSIGN_OR_RETURN(timing, FromFps(fps));

  const double frames_per_second = av_q2d(timing.frame_rate_);
  std::vector<int64_t> ticks = RoundToTicks(seconds, frames_per_second);
  const bool even = FitsTicks(seconds, frames_per_second) && AreConsecutive(ticks);
  if (even && !ticks.empty()) timing.first_ = ticks.front();
  if (!traits.keeps_times && (!even || timing.first_ != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "container ", traits.name, " stores no time stamps, so pts must be evenly spaced from 0; ",
        even ? absl::StrCat("pts[0] is ", seconds[0]) : "these are not",
        " (use container mp4 or mkv, or fps)"));
  }
  if (even) return timing;

  int rate = traits.ticks_per_second;
  if (rate == 0) {
    rate = *std::find_if(std::begin(kTickRates), std::end(kTickRates) - 1,
                         [&](int candidate) { return FitsTicks(seconds, candidate); });
  }
  timing.time_base_ = {1, rate};
  ticks = RoundToTicks(seconds, rate);
  for (size_t i = 1; i < ticks.size(); ++i) {
    const int64_t gap = ticks[i] - ticks[i - 1];
    if (gap < 1 || gap > kMaxTickGap) {
      return absl::InvalidArgumentError(absl::StrCat(
          "container ", traits.name, " counts time in steps of ", av_q2d(timing.time_base_),
          " s here, but pts[", i - 1, "] = ", seconds[i - 1], " and pts[", i, "] = ", seconds[i],
          gap < 1 ? " fall into the same step" : " are too far apart for a 32-bit count of steps",
          "; space the frames differently or use another container"));
    }
  }
  timing.ticks_ = std::move(ticks);
  return timing;
}

int64_t FrameTiming::DurationAt(int64_t pts) const {
  if (constant()) return 1;
  if (ticks_.size() == 1) return av_rescale_q(1, av_inv_q(frame_rate_), time_base_);
  const auto next = std::upper_bound(ticks_.begin(), ticks_.end(), pts);
  if (next == ticks_.begin() || next == ticks_.end()) {
    return ticks_.back() - ticks_[ticks_.size() - 2];
  }
  return *next - *(next - 1);
}

}  // namespace nvc
