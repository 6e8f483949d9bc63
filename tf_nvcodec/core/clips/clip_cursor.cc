#include "tf_nvcodec/core/clips/clip_cursor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/status.h"

namespace nvc {

absl::Status ClipCursor::Restore(const State& state) {
  const int64_t units = order_->num_units();
  const bool begun = state.unit >= 0;
  if (state.next_unit < 0 || state.next_unit > units || state.unit < -1 || state.unit >= units ||
      state.place < 0 || (begun && order_->units_are_clips())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the saved position (next unit ", state.next_unit, ", unit ", state.unit,
                     ", place ", state.place, ") is outside this dataset of ", units, " units"));
  }
  state_ = state;
  videos_.clear();
  return absl::OkStatus();
}

absl::StatusOr<bool> ClipCursor::TakeUnit(uint64_t epoch_seed, const NextUnit& next_unit,
                                          int64_t* unit, uint64_t* seed) {
  if (!next_unit) {
    *unit = state_.next_unit;
    *seed = epoch_seed;
    if (state_.next_unit >= order_->num_units()) return false;
    ++state_.next_unit;
    return true;
  }
  NVC_ASSIGN_OR_RETURN(const bool found, next_unit(unit, seed));
  if (found && (*unit < 0 || *unit >= order_->num_units())) {
    return absl::InvalidArgumentError(absl::StrCat("split ", *unit, " is outside this dataset of ",
                                                   order_->num_units(), " units"));
  }
  return found;
}

absl::Status ClipCursor::OpenUnit(const CountClips& count) {
  // videos_ is set last. If anything here fails, the next step tries it again.
  std::vector<int64_t> videos = order_->VideosOf(state_.unit, state_.seed);
  NVC_ASSIGN_OR_RETURN(counts_, count(videos));
  const auto failed = std::count(counts_.begin(), counts_.end(), -1);
  std::replace(counts_.begin(), counts_.end(), int64_t{-1}, int64_t{1});
  num_clips_ = ClipOrder::Total(counts_);
  // A restored place behind clips that nobody can count any more.
  if (failed > 0 && videos.size() == 1 && state_.place > num_clips_) state_.place = 0;
  if (state_.place > num_clips_) {
    return absl::InvalidArgumentError(absl::StrCat("the saved position is clip ", state_.place,
                                                   " of unit ", state_.unit, ", which has ",
                                                   num_clips_, " clips: its files have changed"));
  }
  videos_ = std::move(videos);
  return absl::OkStatus();
}

absl::StatusOr<bool> ClipCursor::Next(uint64_t epoch_seed, const NextUnit& next_unit,
                                      const CountClips& count, SeededClip* clip) {
  if (order_->units_are_clips()) {
    int64_t unit = 0;
    NVC_ASSIGN_OR_RETURN(const bool found, TakeUnit(epoch_seed, next_unit, &unit, &clip->seed));
    if (found) clip->id = order_->ClipOf(unit, clip->seed);
    return found;
  }
  while (true) {
    if (state_.unit < 0) {
      NVC_ASSIGN_OR_RETURN(const bool found,
                           TakeUnit(epoch_seed, next_unit, &state_.unit, &state_.seed));
      if (!found) {
        state_.unit = -1;
        return false;
      }
      state_.place = 0;
      videos_.clear();
    }
    if (videos_.empty()) NVC_RETURN_IF_ERROR(OpenUnit(count));
    if (state_.place < num_clips_) break;
    state_.unit = -1;
  }
  clip->seed = state_.seed;
  clip->id = order_->ClipAt(state_.unit, state_.seed, videos_, counts_, state_.place++);
  return true;
}

void ClipCursor::LookAhead(uint64_t epoch_seed, bool splits, const CountClips& count,
                           const std::function<bool(const SeededClip& clip)>& take) {
  if (order_->units_are_clips()) {
    const int64_t known = splits ? 0 : order_->num_units() - state_.next_unit;
    const int64_t end = state_.next_unit + std::min(known, kMostAhead);
    for (int64_t unit = state_.next_unit; unit < end; ++unit) {
      if (!take({order_->ClipOf(unit, epoch_seed), epoch_seed})) return;
    }
    return;
  }
  if (state_.unit < 0 || (videos_.empty() && !OpenUnit(count).ok())) return;
  const int64_t end = state_.place + std::min(num_clips_ - state_.place, kMostAhead);
  for (int64_t place = state_.place; place < end; ++place) {
    const ClipId id = order_->ClipAt(state_.unit, state_.seed, videos_, counts_, place);
    if (!take({id, state_.seed})) return;
  }
}

}  // namespace nvc
