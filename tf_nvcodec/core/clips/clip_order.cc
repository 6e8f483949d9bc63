#include "tf_nvcodec/core/clips/clip_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_nvcodec/core/base/permutation.h"

namespace nvc {

int64_t ClipOrder::Total(const std::vector<int64_t>& counts) {
  int64_t total = 0;
  for (const int64_t count : counts) total += std::min(count, kMostClips - total);
  return total;
}

absl::Status ClipOrder::Validate(const ClipCounts& counts, const Options& options) {
  if (counts.num_videos < 1) return absl::InvalidArgumentError("there are no videos");
  if (options.num_shards < 1 || options.shard < 0 || options.shard >= options.num_shards) {
    return absl::InvalidArgumentError(absl::StrCat("shard ", options.shard, " of ",
                                                   options.num_shards,
                                                   " does not exist: 0 <= index < num_shards"));
  }
  if (options.group < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("shuffle_group must be at least 1, got ", options.group));
  }
  if (!counts.counts.empty() && static_cast<int64_t>(counts.counts.size()) != counts.num_videos) {
    return absl::InvalidArgumentError(absl::StrCat("clip counts are given for ",
                                                   counts.counts.size(), " videos, but there are ",
                                                   counts.num_videos, " videos"));
  }
  for (size_t i = 0; i < counts.counts.size(); ++i) {
    if (counts.counts[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("video ", i, " has a negative number of clips, ", counts.counts[i]));
    }
  }
  if (Total(counts.counts) == kMostClips) {
    return absl::InvalidArgumentError("the videos have more clips than can be numbered");
  }
  return absl::OkStatus();
}

ClipOrder::ClipOrder(ClipCounts counts, const Options& options)
    : counts_(std::move(counts)), options_(options) {
  int64_t total = counts_.num_videos;
  if (!counts_.counts.empty()) {
    ends_.resize(counts_.counts.size());
    std::partial_sum(counts_.counts.begin(), counts_.counts.end(), ends_.begin());
    total = ends_.back();
  } else if (counts_.known()) {
    total = counts_.num_videos * counts_.per_video;
  }
  const int64_t shards = options_.num_shards;
  shard_size_ = total / shards + (options_.shard < total % shards ? 1 : 0);
  num_units_ = shard_size_;
  // One unit may have all videos; sums with a larger group would exceed 64 bits.
  options_.group = std::clamp<int64_t>(options_.group, 1, std::max<int64_t>(shard_size_, 1));
  if (!counts_.known() && options_.shuffle) {
    num_units_ = (shard_size_ + options_.group - 1) / options_.group;
  }
}

int64_t ClipOrder::Permuted(int64_t size, uint64_t seed, int64_t i) const {
  if (!options_.shuffle) return i;
  return static_cast<int64_t>(
      Permutation(static_cast<uint64_t>(size), seed)(static_cast<uint64_t>(i)));
}

ClipId ClipOrder::ClipOf(int64_t unit, uint64_t seed) const {
  const int64_t clip = Permuted(shard_size_, seed, unit) * options_.num_shards + options_.shard;
  if (ends_.empty()) return {clip / counts_.per_video, clip % counts_.per_video};
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), clip);
  const auto video = static_cast<size_t>(end - ends_.begin());
  return {static_cast<int64_t>(video), clip - (*end - counts_.counts[video])};
}

std::vector<int64_t> ClipOrder::VideosOf(int64_t unit, uint64_t seed) const {
  const int64_t group = options_.shuffle ? options_.group : 1;
  std::vector<int64_t> videos;
  for (int64_t i = unit * group; i < std::min((unit + 1) * group, shard_size_); ++i) {
    videos.push_back(Permuted(shard_size_, seed, i) * options_.num_shards + options_.shard);
  }
  return videos;
}

ClipId ClipOrder::ClipAt(int64_t unit, uint64_t seed, const std::vector<int64_t>& videos,
                         const std::vector<int64_t>& counts, int64_t place) const {
  int64_t clip = Permuted(Total(counts), HashMix(seed, static_cast<uint64_t>(unit)), place);
  size_t i = 0;
  for (; clip >= counts[i]; ++i) clip -= counts[i];
  return {videos[i], clip};
}

}  // namespace nvc
