// The order in which the clips of many videos come, computed from positions, so that an iterator's
// state is a handful of numbers.
#ifndef TF_NVCODEC_CORE_CLIPS_CLIP_ORDER_H_
#define TF_NVCODEC_CORE_CLIPS_CLIP_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace nvc {

struct ClipId {
  int64_t video = 0, clip = 0;
  bool operator==(const ClipId& other) const { return video == other.video && clip == other.clip; }
};

// How many clips each video has; without `counts`, each has `per_video`; without either, that is
// known only once a video has been opened.
struct ClipCounts {
  int64_t num_videos = 0;
  int64_t per_video = -1;
  std::vector<int64_t> counts;  // empty, or one for each video

  bool known() const { return per_video >= 0 || !counts.empty(); }
};

// The order is cut into units, each of which is worked through on its own: a clip where the counts
// are known, so that a shuffle mixes all clips of all videos; else a group of videos that are
// opened together and whose clips are mixed (one video, in order, without shuffling).
class ClipOrder {
 public:
  struct Options {
    bool shuffle = false;
    int64_t group = 16;  // videos, for a shuffle with unknown counts
    int64_t num_shards = 1, shard = 0;
  };

  // InvalidArgument names what is out of range. Shards are cut before the shuffle (every
  // num_shards-th clip or video from `shard` on): together they are everything exactly once,
  // whatever the seeds.
  static absl::Status Validate(const ClipCounts& counts, const Options& options);

  ClipOrder(ClipCounts counts, const Options& options);

  int64_t num_units() const { return num_units_; }
  bool units_are_clips() const { return counts_.known(); }

  // Where units are clips. unit < num_units().
  ClipId ClipOf(int64_t unit, uint64_t seed) const;

  // Where they are not: the videos of a unit, and one clip of them by its place in the unit, given
  // how many clips each of these videos has. place < the sum of `counts`.
  std::vector<int64_t> VideosOf(int64_t unit, uint64_t seed) const;
  ClipId ClipAt(int64_t unit, uint64_t seed, const std::vector<int64_t>& videos,
                const std::vector<int64_t>& counts, int64_t place) const;

 private:
  int64_t Permuted(int64_t size, uint64_t seed, int64_t i) const;

  ClipCounts counts_;
  Options options_;
  std::vector<int64_t> ends_;  // of each video's clips among all, where counts differ
  int64_t shard_size_ = 0;     // clips where units are clips, else videos
  int64_t num_units_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_ORDER_H_
