#include "tf_nvcodec/core/clips/clip_cursor.h"

#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;
using Clips = std::vector<std::tuple<int64_t, int64_t, uint64_t>>;  // video, clip, seed

const std::vector<int64_t>& Real() {
  static const auto* const real = new std::vector<int64_t>{3, 0, 5, 1, 0, 0, 4, 2, 0};
  return *real;
}

absl::StatusOr<std::vector<int64_t>> Count(const std::vector<int64_t>& videos) {
  std::vector<int64_t> counts;
  for (const int64_t video : videos) counts.push_back(Real()[video]);
  return counts;
}

std::vector<ClipOrder> Orders() {
  const auto videos = static_cast<int64_t>(Real().size());
  std::vector<ClipOrder> orders;
  for (const bool shuffle : {false, true}) {
    for (const int64_t shards : {1, 2}) {
      orders.emplace_back(ClipCounts{videos, 2, {}}, ClipOrder::Options{shuffle, 4, shards, 0});
      orders.emplace_back(ClipCounts{videos, -1, Real()},
                          ClipOrder::Options{shuffle, 4, shards, 0});
      for (const int64_t group : {1, 4, 100}) {
        orders.emplace_back(ClipCounts{videos, -1, {}},
                            ClipOrder::Options{shuffle, group, shards, 0});
      }
    }
  }
  return orders;
}

// Walks `cursor` to the end and returns the clips that it gives. `next` hands out the units, or is
// nullptr to walk through all of them in order.
Clips Rest(ClipCursor cursor, uint64_t seed, const NextUnit& next = nullptr) {
  Clips clips;
  while (true) {
    SeededClip clip;
    const auto found = cursor.Next(seed, next, Count, &clip);
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || !*found) return clips;
    clips.emplace_back(clip.id.video, clip.id.clip, clip.seed);
  }
}

// Returns the clips of `units`, taken from ClipOrder without a cursor.
Clips OfUnits(const ClipOrder& order, const std::vector<std::pair<int64_t, uint64_t>>& units) {
  Clips clips;
  for (const auto& [unit, seed] : units) {
    if (order.units_are_clips()) {
      const ClipId id = order.ClipOf(unit, seed);
      clips.emplace_back(id.video, id.clip, seed);
      continue;
    }
    const std::vector<int64_t> videos = order.VideosOf(unit, seed);
    const std::vector<int64_t> counts = *Count(videos);
    const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    for (int64_t place = 0; place < total; ++place) {
      const ClipId id = order.ClipAt(unit, seed, videos, counts, place);
      clips.emplace_back(id.video, id.clip, seed);
    }
  }
  return clips;
}

TEST(ClipCursorTest, WalksThroughTheWholeOrder) {
  for (const ClipOrder& order : Orders()) {
    std::vector<std::pair<int64_t, uint64_t>> units;
    for (int64_t unit = 0; unit < order.num_units(); ++unit) units.emplace_back(unit, 77);
    EXPECT_EQ(Rest(ClipCursor(&order), 77), OfUnits(order, units));
  }
}

TEST(ClipCursorTest, StaysAtTheEnd) {
  for (const ClipOrder& order : Orders()) {
    ClipCursor cursor(&order);
    SeededClip clip;
    while (*cursor.Next(1, nullptr, Count, &clip)) {
    }
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(*cursor.Next(1, nullptr, Count, &clip));
    ClipCursor restored(&order);
    ASSERT_TRUE(restored.Restore(cursor.state()).ok());
    EXPECT_FALSE(*restored.Next(1, nullptr, Count, &clip));
  }
}

TEST(ClipCursorTest, CopiesAndRestoredStatesContinueAlike) {
  for (const ClipOrder& order : Orders()) {
    const Clips all = Rest(ClipCursor(&order), 5);
    ClipCursor cursor(&order);
    for (size_t done = 0; done <= all.size(); ++done) {
      const Clips left(all.begin() + static_cast<int64_t>(done), all.end());
      EXPECT_EQ(Rest(cursor, 5), left) << "a copy after " << done;
      ClipCursor restored(&order);
      ASSERT_TRUE(restored.Restore(cursor.state()).ok()) << done;
      EXPECT_EQ(Rest(restored, 5), left) << "restored after " << done;
      // A cursor that has already walked elsewhere can be restored too.
      ClipCursor used(&order);
      SeededClip clip;
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(used.Next(9, nullptr, Count, &clip).ok());
      ASSERT_TRUE(used.Restore(cursor.state()).ok());
      EXPECT_EQ(Rest(used, 5), left) << "used, restored after " << done;
      ASSERT_TRUE(cursor.Next(5, nullptr, Count, &clip).ok());
    }
  }
}

TEST(ClipCursorTest, TakesUnitsFromACallback) {
  for (const ClipOrder& order : Orders()) {
    // Some units of two epochs, which have different seeds.
    std::vector<std::pair<int64_t, uint64_t>> units;
    for (int64_t unit = order.num_units() - 1; unit >= 0; unit -= 2) units.emplace_back(unit, 3);
    for (int64_t unit = 0; unit < order.num_units(); unit += 3) units.emplace_back(unit, 4);
    size_t taken = 0;
    const NextUnit next = [&](int64_t* unit, uint64_t* seed) -> absl::StatusOr<bool> {
      if (taken == units.size()) return false;
      std::tie(*unit, *seed) = units[taken++];
      return true;
    };
    const Clips want = OfUnits(order, units);
    EXPECT_EQ(Rest(ClipCursor(&order), 99, next), want);

    // A cursor that is restored in the middle of a unit continues there.
    ClipCursor cursor(&order);
    taken = 0;
    SeededClip clip;
    for (size_t done = 0; done <= want.size(); ++done) {
      const size_t kept = taken;
      ClipCursor restored(&order);
      ASSERT_TRUE(restored.Restore(cursor.state()).ok());
      EXPECT_EQ(Rest(restored, 99, next),
                Clips(want.begin() + static_cast<int64_t>(done), want.end()));
      taken = kept;
      ASSERT_TRUE(cursor.Next(99, next, Count, &clip).ok());
    }
  }
}

TEST(ClipCursorTest, RefusesUnitsThatDoNotExist) {
  for (const ClipOrder& order : Orders()) {
    for (const int64_t bad : {int64_t{-1}, order.num_units(), int64_t{1} << 40}) {
      ClipCursor cursor(&order);
      SeededClip clip;
      const NextUnit next = [&](int64_t* unit, uint64_t*) -> absl::StatusOr<bool> {
        *unit = bad;
        return true;
      };
      const auto found = cursor.Next(0, next, Count, &clip);
      EXPECT_TRUE(absl::IsInvalidArgument(found.status())) << bad;
      EXPECT_THAT(found.status().message(), HasSubstr(std::to_string(bad)));
    }
  }
}

TEST(ClipCursorTest, RefusesStatesOfOtherOrders) {
  for (const ClipOrder& order : Orders()) {
    const int64_t units = order.num_units();
    for (const ClipCursor::State& bad : std::vector<ClipCursor::State>{{-1, -1, 0, 0},
                                                                       {units + 1, -1, 0, 0},
                                                                       {0, -2, 0, 0},
                                                                       {0, units, 0, 0},
                                                                       {0, -1, -1, 0}}) {
      ClipCursor cursor(&order);
      const absl::Status status = cursor.Restore(bad);
      EXPECT_TRUE(absl::IsInvalidArgument(status));
      EXPECT_THAT(status.message(), HasSubstr(std::to_string(units) + " units"));
      EXPECT_EQ(Rest(cursor, 1), Rest(ClipCursor(&order), 1)) << "it is as it was";
    }
    // A position inside a unit exists only if units are videos; a single clip has none.
    ClipCursor cursor(&order);
    EXPECT_EQ(cursor.Restore({1, 0, 0, 0}).ok(), !order.units_are_clips());
  }
}

TEST(ClipCursorTest, RefusesAPlaceBeyondTheClipsOfItsUnit) {
  const ClipOrder order({9, -1, {}}, {});
  ClipCursor cursor(&order);
  ASSERT_TRUE(cursor.Restore({1, 0, 4, 0}).ok()) << "what video 0 has is known later";
  SeededClip clip;
  for (int i = 0; i < 2; ++i) {
    const auto found = cursor.Next(0, nullptr, Count, &clip);
    EXPECT_TRUE(absl::IsInvalidArgument(found.status()));
    EXPECT_THAT(found.status().message(), HasSubstr("3 clips: its files have changed"));
  }
}

TEST(ClipCursorTest, OpensVideosOnlyWhenTheWalkGetsThere) {
  const ClipOrder order({9, -1, {}}, {true, 4, 1, 0});
  size_t opened = 0;
  const CountClips count = [&](const std::vector<int64_t>& videos) {
    opened += videos.size();
    return Count(videos);
  };
  ClipCursor cursor(&order);
  EXPECT_EQ(opened, 0);
  SeededClip clip;
  ASSERT_TRUE(*cursor.Next(1, nullptr, count, &clip));
  EXPECT_LE(opened, 8) << "two groups, if all of the first are empty";
  while (*cursor.Next(1, nullptr, count, &clip)) {
  }
  EXPECT_EQ(opened, 9) << "each once";
}

TEST(ClipCursorTest, AFailedCountIsTriedAgain) {
  for (const ClipOrder& order : Orders()) {
    int calls = 0;
    const CountClips failing =
        [&](const std::vector<int64_t>& videos) -> absl::StatusOr<std::vector<int64_t>> {
      if (++calls % 3 != 0) return absl::UnavailableError("not now");
      return Count(videos);
    };
    ClipCursor cursor(&order);
    Clips clips;
    while (true) {
      SeededClip clip;
      const auto found = cursor.Next(5, nullptr, failing, &clip);
      if (!found.ok()) {
        EXPECT_TRUE(absl::IsUnavailable(found.status()));
        continue;
      }
      if (!*found) break;
      clips.emplace_back(clip.id.video, clip.id.clip, clip.seed);
    }
    EXPECT_EQ(clips, Rest(ClipCursor(&order), 5));
  }
}

TEST(ClipCursorTest, AVideoThatCannotBeCountedIsOneClip) {
  const auto fails = [](const std::vector<int64_t>& videos) {
    return absl::StatusOr<std::vector<int64_t>>(std::vector<int64_t>(videos.size(), -1));
  };
  const ClipOrder order(ClipCounts{2, -1, {}}, ClipOrder::Options{false, 1, 1, 0});
  ClipCursor cursor(&order);
  ASSERT_TRUE(cursor.Restore({1, 0, 5, 7}).ok());  // behind five clips, when it could be counted
  Clips clips;
  SeededClip clip;
  while (cursor.Next(7, nullptr, fails, &clip).value()) {
    clips.emplace_back(clip.id.video, clip.id.clip, clip.seed);
  }
  EXPECT_EQ(clips, (Clips{{0, 0, 7}, {1, 0, 7}}));
}

// A damaged clock gives a video more clips than memory could list, and two of them more than 64
// bits.
TEST(ClipCursorTest, VideosWithCountlessClips) {
  const auto countless = [](const std::vector<int64_t>& videos) {
    return absl::StatusOr<std::vector<int64_t>>(
        std::vector<int64_t>(videos.size(), ClipOrder::kMostClips));
  };
  for (const bool shuffle : {false, true}) {
    const ClipOrder order(ClipCounts{4, -1, {}},
                          ClipOrder::Options{shuffle, std::numeric_limits<int64_t>::max(), 1, 0});
    EXPECT_EQ(order.num_units(), shuffle ? 1 : 4);
    ClipCursor cursor(&order);
    SeededClip clip;
    const auto found = cursor.Next(7, nullptr, countless, &clip);
    ASSERT_TRUE(found.ok() && *found);
    EXPECT_GE(clip.id.clip, 0);
    int64_t ahead = 0;
    cursor.LookAhead(7, false, countless, [&ahead](const SeededClip&) { return ++ahead > 0; });
    EXPECT_EQ(ahead, ClipCursor::kMostAhead);
  }
}

}  // namespace
}  // namespace nvc
