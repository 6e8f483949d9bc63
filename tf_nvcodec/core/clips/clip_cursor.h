// Walks through the clips of a ClipOrder, opening videos for their clip counts only when the walk
// gets to them.
#ifndef TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_
#define TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/clips/clip_order.h"

namespace nvc {

// A clip and the seed of the epoch it belongs to.
struct SeededClip {
  ClipId id;
  uint64_t seed = 0;
};

// Where units come from when not all of the order is this iterator's: false at the end.
using NextUnit = std::function<absl::StatusOr<bool>(int64_t* unit, uint64_t* seed)>;

// The number of clips of each of `videos`.
using CountClips =
    std::function<absl::StatusOr<std::vector<int64_t>>(const std::vector<int64_t>& videos)>;

// A value: copy it to try a step.
class ClipCursor {
 public:
  // What has to be saved: `next_unit` is the first unit not begun (without NextUnit); `place` is
  // that of the next clip in unit `unit`, if one was begun (`unit` >= 0).
  struct State {
    int64_t next_unit = 0;
    int64_t unit = -1, place = 0;
    uint64_t seed = 0;
  };

  // `order` must outlive the cursor. `epoch_seed` is for units taken in order.
  explicit ClipCursor(const ClipOrder* order) : order_(order) {}

  const State& state() const { return state_; }
  // InvalidArgument for a state that no walk through this order can reach.
  absl::Status Restore(const State& state);

  // The next clip; false at the end.
  absl::StatusOr<bool> Next(uint64_t epoch_seed, const NextUnit& next_unit, const CountClips& count,
                            SeededClip* clip);

 private:
  absl::StatusOr<bool> TakeUnit(uint64_t epoch_seed, const NextUnit& next_unit, int64_t* unit,
                                uint64_t* seed);
  absl::Status OpenUnit(const CountClips& count);

  const ClipOrder* order_;
  State state_;
  // Of the unit begun; empty until they are needed.
  std::vector<int64_t> videos_, counts_;
  int64_t num_clips_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_
