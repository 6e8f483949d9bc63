// Walks through the clips of a ClipOrder. It opens a video to count its clips only when the walk
// gets there.
#ifndef TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_
#define TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tf_nvcodec/core/clips/clip_order.h"

namespace nvc {

// A clip and the seed of its epoch.
struct SeededClip {
  ClipId id;
  uint64_t seed = 0;
};

// Hands out the next unit when several iterators share one order, as with splits of tf.data.
// Returns false at the end.
using NextUnit = std::function<absl::StatusOr<bool>(int64_t* unit, uint64_t* seed)>;

// Returns the number of clips of each of `videos`; -1 if a video has failed, which then counts as
// one clip, so that somebody hears of it.
using CountClips =
    std::function<absl::StatusOr<std::vector<int64_t>>(const std::vector<int64_t>& videos)>;

// A ClipCursor is a value: copy it to try a step.
class ClipCursor {
 public:
  // The state to save. `next_unit` is the first unit not begun (used without NextUnit). If a unit
  // is begun, `unit` is its number and `place` that of its next clip; otherwise `unit` is -1.
  struct State {
    int64_t next_unit = 0;
    int64_t unit = -1, place = 0;
    uint64_t seed = 0;
  };

  // `order` must outlive the cursor.
  explicit ClipCursor(const ClipOrder* order) : order_(order) {}

  const State& state() const { return state_; }
  // Returns InvalidArgument for a state that no walk through this order reaches.
  absl::Status Restore(const State& state);

  // Sets `clip` to the next clip, or returns false at the end. Units come from `next_unit` if it is
  // set, else in order, with the seed `epoch_seed`.
  absl::StatusOr<bool> Next(uint64_t epoch_seed, const NextUnit& next_unit, const CountClips& count,
                            SeededClip* clip);

  static constexpr int64_t kMostAhead = 4096;
  // Calls `take` with the clips that the next steps give, as far as they are known, until it
  // returns false: with at most kMostAhead, since a video with a damaged clock may have any
  // number of clips. `splits` says whether units come from a NextUnit, so that nobody knows the
  // next one. `count` is called for a restored unit at most.
  void LookAhead(uint64_t epoch_seed, bool splits, const CountClips& count,
                 const std::function<bool(const SeededClip& clip)>& take);

 private:
  absl::StatusOr<bool> TakeUnit(uint64_t epoch_seed, const NextUnit& next_unit, int64_t* unit,
                                uint64_t* seed);
  absl::Status OpenUnit(const CountClips& count);

  const ClipOrder* order_;
  State state_;
  // These belong to the unit that is begun. They are empty until they are needed.
  std::vector<int64_t> videos_, counts_;
  int64_t num_clips_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_CURSOR_H_
