// Computes the order of the clips of many videos from positions. So an iterator's state is a
// handful of numbers.
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

// How many clips each video has: `counts` if given, else `per_video` for each. Without both, the
// number is only known once a video has been opened.
struct ClipCounts {
  int64_t num_videos = 0;
  int64_t per_video = -1;
  std::vector<int64_t> counts;  // empty, or one for each video

  bool known() const { return per_video >= 0 || !counts.empty(); }
};

// Cuts the order into units, which an iterator works through one by one. Where the counts are
// known, a unit is a clip, so that a shuffle mixes all clips of all videos. Otherwise a unit is a
// group of videos that are opened together and whose clips are mixed. Without shuffling the group
// is one video, with its clips in order.
class ClipOrder {
 public:
  struct Options {
    bool shuffle = false;
    int64_t group = 16;  // videos in a unit, for a shuffle with unknown counts
    int64_t num_shards = 1, shard = 0;
  };

  // The sum of counts that are not negative, at most kMostClips: damaged files may have counts
  // whose sum exceeds 64 bits.
  static constexpr int64_t kMostClips = int64_t{1} << 62;
  static int64_t Total(const std::vector<int64_t>& counts);
  // Returns InvalidArgument that names what is out of range. Shards are cut before the shuffle: a
  // shard is every num_shards-th clip or video from `shard` on. So the shards together hold
  // everything exactly once, whatever the seeds.
  static absl::Status Validate(const ClipCounts& counts, const Options& options);

  ClipOrder(ClipCounts counts, const Options& options);

  int64_t num_units() const { return num_units_; }
  bool units_are_clips() const { return counts_.known(); }

  // Returns the clip of `unit`, if units are clips. unit < num_units().
  ClipId ClipOf(int64_t unit, uint64_t seed) const;

  // If units are not clips: VideosOf returns the videos of a unit. ClipAt returns the clip at
  // position `place` of the unit, given how many clips each of these videos has. place < the sum of
  // `counts`.
  std::vector<int64_t> VideosOf(int64_t unit, uint64_t seed) const;
  ClipId ClipAt(int64_t unit, uint64_t seed, const std::vector<int64_t>& videos,
                const std::vector<int64_t>& counts, int64_t place) const;

 private:
  int64_t Permuted(int64_t size, uint64_t seed, int64_t i) const;

  ClipCounts counts_;
  Options options_;
  std::vector<int64_t> ends_;  // where each video's clips end among all, if counts differ
  int64_t shard_size_ = 0;     // in clips if units are clips, else in videos
  int64_t num_units_ = 0;
};

}  // namespace nvc

#endif  // TF_NVCODEC_CORE_CLIPS_CLIP_ORDER_H_
