#include "tf_nvcodec/core/clips/clip_order.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// Returns every clip of an order. `real` has the number of clips of each video, for orders that do
// not know the counts in advance.
Pairs Walk(const ClipOrder& order, uint64_t seed, const std::vector<int64_t>& real) {
  Pairs clips;
  for (int64_t unit = 0; unit < order.num_units(); ++unit) {
    if (order.units_are_clips()) {
      const ClipId id = order.ClipOf(unit, seed);
      clips.emplace_back(id.video, id.clip);
      continue;
    }
    const std::vector<int64_t> videos = order.VideosOf(unit, seed);
    std::vector<int64_t> counts;
    for (const int64_t video : videos) counts.push_back(real[video]);
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    for (int64_t place = 0; place < total; ++place) {
      const ClipId id = order.ClipAt(unit, seed, videos, counts, place);
      clips.emplace_back(id.video, id.clip);
    }
  }
  return clips;
}

Pairs InOrder(const std::vector<int64_t>& counts) {
  Pairs clips;
  for (size_t video = 0; video < counts.size(); ++video) {
    for (int64_t clip = 0; clip < counts[video]; ++clip) clips.emplace_back(video, clip);
  }
  return clips;
}

ClipCounts Known(std::vector<int64_t> counts) {
  return {static_cast<int64_t>(counts.size()), -1, std::move(counts)};
}

struct Case {
  std::string name;
  ClipCounts counts;
  std::vector<int64_t> real;
};

std::vector<Case> Cases() {
  const std::vector<int64_t> mixed = {3, 0, 7, 1, 0, 0, 12, 2, 5, 1, 0};
  std::vector<int64_t> many(97);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i * 7 % 5);
  const auto alike = [](int64_t videos, int64_t clips) {
    return std::vector<int64_t>(static_cast<size_t>(videos), clips);
  };
  std::vector<Case> cases;
  const auto add = [&](const char* name, ClipCounts counts, std::vector<int64_t> real) {
    cases.push_back(Case{name, std::move(counts), std::move(real)});
  };
  add("per_video", {7, 3, {}}, alike(7, 3));
  add("one video", {1, 1, {}}, {1});
  add("per_video of 0", {4, 0, {}}, alike(4, 0));
  add("counts", Known(mixed), mixed);
  add("counts, many", Known(many), many);
  add("counts, none", Known({0, 0, 0}), {0, 0, 0});
  add("unknown", {11, -1, {}}, mixed);
  add("unknown, many", {97, -1, {}}, many);
  add("unknown, one", {1, -1, {}}, {9});
  return cases;
}

TEST(ClipOrderTest, ShardsHaveEveryClipOnce) {
  for (const Case& c : Cases()) {
    const Pairs want = InOrder(c.real);
    for (int64_t num_shards = 1; num_shards <= 5; ++num_shards) {
      for (const int64_t group : {1, 2, 5, 16, 1000}) {
        for (const bool shuffle : {false, true}) {
          Pairs all;
          for (int64_t shard = 0; shard < num_shards; ++shard) {
            const ClipOrder::Options options{shuffle, group, num_shards, shard};
            ASSERT_TRUE(ClipOrder::Validate(c.counts, options).ok());
            // The seed does not change what a shard holds, so each shard gets another seed here.
            const Pairs part = Walk(ClipOrder(c.counts, options), 100 + shard, c.real);
            all.insert(all.end(), part.begin(), part.end());
          }
          std::sort(all.begin(), all.end());
          ASSERT_EQ(all, want) << c.name << ", shards " << num_shards << ", group " << group;
        }
      }
    }
  }
}

TEST(ClipOrderTest, WithoutShuffleClipsAreInOrder) {
  for (const Case& c : Cases()) {
    const ClipOrder order(c.counts, {});
    EXPECT_EQ(Walk(order, 5, c.real), InOrder(c.real)) << c.name;
    EXPECT_EQ(order.units_are_clips(), c.counts.known());
    const auto units = order.units_are_clips() ? InOrder(c.real).size() : c.real.size();
    EXPECT_EQ(order.num_units(), units) << c.name;
  }
}

TEST(ClipOrderTest, ShardsAreEvenAndInOrder) {
  for (int64_t shard = 0; shard < 3; ++shard) {
    const ClipOrder clips({5, 2, {}}, {false, 16, 3, shard});  // 10 clips
    EXPECT_EQ(clips.num_units(), shard == 0 ? 4 : 3);
    EXPECT_EQ(Walk(clips, 0, {})[1],
              (std::pair<int64_t, int64_t>((3 + shard) / 2, (3 + shard) % 2)));
    const ClipOrder videos({5, -1, {}}, {false, 16, 3, shard});
    EXPECT_EQ(videos.num_units(), shard < 2 ? 2 : 1);
    EXPECT_EQ(videos.VideosOf(0, 0), std::vector<int64_t>{shard});
  }
  // With more shards than clips, some shards are empty.
  EXPECT_EQ(ClipOrder({2, 1, {}}, {true, 16, 5, 4}).num_units(), 0);
  EXPECT_EQ(ClipOrder({2, -1, {}}, {true, 16, 5, 4}).num_units(), 0);
}

TEST(ClipOrderTest, AShuffleMixesAllClipsIfCountsAreKnown) {
  const ClipOrder order({100, 10, {}}, {true, 16, 1, 0});
  const Pairs a = Walk(order, 1, {}), b = Walk(order, 2, {});
  EXPECT_NE(a, b);
  EXPECT_EQ(a, Walk(order, 1, {}));
  // The first hundred clips come from many videos.
  std::set<int64_t> videos;
  for (size_t i = 0; i < 100; ++i) videos.insert(a[i].first);
  EXPECT_GT(videos.size(), 50);
}

TEST(ClipOrderTest, AShuffleMixesGroupsIfCountsAreUnknown) {
  const std::vector<int64_t> real(64, 10);
  const ClipOrder order({64, -1, {}}, {true, 16, 1, 0});
  ASSERT_EQ(order.num_units(), 4);
  const Pairs clips = Walk(order, 7, real);
  std::set<int64_t> first, all;
  for (size_t i = 0; i < clips.size(); ++i) {
    if (i < 160) first.insert(clips[i].first);
    all.insert(clips[i].first);
  }
  EXPECT_EQ(first.size(), 16) << "as many videos are open at once";
  EXPECT_EQ(all.size(), 64);
  EXPECT_NE(*first.rbegin() - *first.begin(), 15) << "the groups are drawn";
  EXPECT_FALSE(std::is_sorted(clips.begin(), clips.begin() + 160));
  EXPECT_NE(clips, Walk(order, 8, real));
}

TEST(ClipOrderTest, EveryClipIsEquallyLikelyToBeFirst) {
  for (const bool known : {true, false}) {
    const std::vector<int64_t> real = {1, 2, 3, 4};
    const ClipOrder order(known ? Known(real) : ClipCounts{4, -1, {}}, {true, 4, 1, 0});
    std::vector<std::vector<int>> counts(4, std::vector<int>(4));
    for (uint64_t seed = 0; seed < 5000; ++seed) {
      const auto first = Walk(order, seed, real)[0];
      ++counts[first.first][first.second];
    }
    for (size_t video = 0; video < 4; ++video) {
      for (size_t clip = 0; clip <= video; ++clip) {
        EXPECT_NEAR(counts[video][clip], 500, 90) << known << " " << video << " " << clip;
      }
    }
  }
}

TEST(ClipOrderTest, ValidateSaysWhatIsWrong) {
  const ClipCounts fine{3, -1, {}};
  const auto message = [](const ClipCounts& counts, const ClipOrder::Options& options) {
    const absl::Status status = ClipOrder::Validate(counts, options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message({0, -1, {}}, {}), HasSubstr("no videos"));
  EXPECT_THAT(message(fine, {false, 0, 1, 0}), HasSubstr("shuffle_group"));
  EXPECT_THAT(message(fine, {false, 1, 3, 3}), HasSubstr("shard 3 of 3"));
  EXPECT_THAT(message(fine, {false, 1, 3, -1}), HasSubstr("shard -1"));
  EXPECT_THAT(message(fine, {false, 1, 0, 0}), HasSubstr("num_shards"));
  EXPECT_THAT(message({3, -1, {1, 2}}, {}), HasSubstr("2 videos, but there are 3"));
  EXPECT_THAT(message(Known({1, -2, 3}), {}), HasSubstr("video 1"));
}

}  // namespace
}  // namespace nvc
