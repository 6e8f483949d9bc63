#include "tf_nvcodec/core/clips/clip_spec.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const FrameIndex& IndexOf(const std::string& bytes) {
  const MemorySource source(bytes);
  auto* const index = new FrameIndex(FrameIndex::Build(source, {}, nullptr).value());
  return *index;
}

const FrameIndex& RealIndex() {
  static const FrameIndex& index = IndexOf(RealClip());
  return index;
}

const FrameIndex& Short() {
  static const FrameIndex& index = IndexOf(BFramesClip());
  return index;
}

// Returns the frame that each position of a video's timeline shows. Positions are the frames
// themselves (period 0), or moments that are `period` seconds apart and begin at `origin` seconds.
std::vector<int64_t> Looks(const FrameIndex& index, double period, double origin) {
  std::vector<int64_t> looks;
  if (period == 0) {
    for (int64_t i = 0; i < index.num_frames(); ++i) looks.push_back(i);
    return looks;
  }
  const FrameEntry& last = index.frames().back();
  for (int k = 0; k == 0 || origin + k * period < last.pts + last.duration - 1e-6; ++k) {
    int64_t shown = 0;
    for (int64_t i = 0; i < index.num_frames(); ++i) {
      if (index.frames()[i].pts <= origin + k * period + 1e-6) shown = i;
    }
    looks.push_back(shown);
  }
  return looks;
}

// Returns the clip that begins at position `start`, as the documentation defines it.
Clip Reference(const ClipSpec& spec, const std::vector<int64_t>& looks, int64_t start,
               const std::vector<int64_t>& from_the_beginning) {
  const auto size = static_cast<int64_t>(looks.size());
  Clip clip;
  for (int64_t i = 0; i < spec.length; ++i) {
    const int64_t at = start + i * spec.stride;
    if (at < size) {
      clip.frames.push_back(looks[at]);
      ++clip.own;
    } else if (spec.pad == ClipPad::kZero) {
      ++clip.zeros;
    } else if (spec.pad == ClipPad::kRepeat) {
      clip.frames.push_back(looks.back());
    } else {
      clip.frames.push_back(from_the_beginning[(at - size) % from_the_beginning.size()]);
    }
  }
  return clip;
}

void ExpectSame(const Clip& a, const Clip& b, const std::string& what) {
  EXPECT_EQ(a.frames, b.frames) << what;
  EXPECT_EQ(a.own, b.own) << what;
  EXPECT_EQ(a.zeros, b.zeros) << what;
}

// Returns every combination of these lengths, strides, periods and pads.
std::vector<ClipSpec> Specs(ClipSampling sampling) {
  std::vector<ClipSpec> specs;
  for (const int64_t length : {1, 2, 16, 60, 61, 140}) {
    for (const int64_t stride : {1, 2, 7}) {
      for (const double period : {0.0, 0.04, 0.1, 1 / 30.0, 1 / 24.0, 0.013, 7.0}) {
        for (const ClipPad pad :
             {ClipPad::kDrop, ClipPad::kZero, ClipPad::kRepeat, ClipPad::kWrap}) {
          ClipSpec spec;
          spec.length = length;
          spec.stride = stride;
          spec.period = period;
          spec.pad = pad;
          spec.sampling = sampling;
          EXPECT_TRUE(spec.Validate().ok());
          specs.push_back(spec);
        }
      }
    }
  }
  return specs;
}

std::string Describe(const ClipSpec& spec) {
  return "length " + std::to_string(spec.length) + ", stride " + std::to_string(spec.stride) +
         ", period " + std::to_string(spec.period) + ", pad " +
         std::to_string(static_cast<int>(spec.pad));
}

void CheckSelect(const ClipSpec& spec, const FrameIndex& index, int64_t clip, int64_t start,
                 const std::vector<int64_t>& looks, uint64_t seed = 0) {
  const std::string what = Describe(spec) + ", clip " + std::to_string(clip);
  const auto selected = spec.Select(index, clip, seed);
  const bool fits = start + spec.Span() <= static_cast<int64_t>(looks.size());
  if (spec.pad == ClipPad::kDrop && !fits) {
    EXPECT_TRUE(absl::IsNotFound(selected.status())) << what << selected.status();
    return;
  }
  ASSERT_TRUE(selected.ok()) << what << selected.status();
  ExpectSame(*selected, Reference(spec, looks, start, looks), what);
}

class ClipSpecTest : public ::testing::TestWithParam<bool> {
 protected:
  static const FrameIndex& Index() { return GetParam() ? RealIndex() : Short(); }
};
INSTANTIATE_TEST_SUITE_P(Videos, ClipSpecTest, ::testing::Bool());

TEST_P(ClipSpecTest, AllClips) {
  for (ClipSpec spec : Specs(ClipSampling::kAll)) {
    const std::vector<int64_t> looks = Looks(Index(), spec.period, Index().frames()[0].pts);
    for (const int64_t step : {int64_t{1}, int64_t{5}, spec.Span(), int64_t{1000}}) {
      spec.step = step;
      std::vector<int64_t> starts;
      for (int64_t at = 0; at + spec.Span() <= static_cast<int64_t>(looks.size()); at += step) {
        starts.push_back(at);
      }
      if (starts.empty() && spec.pad != ClipPad::kDrop) starts.push_back(0);
      const auto count = static_cast<int64_t>(starts.size());
      ASSERT_EQ(spec.CountAll(Index()), count) << Describe(spec) << ", step " << step;
      // Checking every clip would take minutes. Mistakes are most likely at the ends.
      for (int64_t clip = 0; clip < count; clip += clip < 2 || clip > count - 3 ? 1 : count / 5) {
        CheckSelect(spec, Index(), clip, starts[clip], looks);
      }
      for (const int64_t none : {int64_t{-1}, count}) {
        EXPECT_TRUE(absl::IsInvalidArgument(spec.Select(Index(), none, 0).status()));
      }
    }
  }
}

TEST_P(ClipSpecTest, UniformReachesFromEndToEnd) {
  for (ClipSpec spec : Specs(ClipSampling::kUniform)) {
    const std::vector<int64_t> looks = Looks(Index(), spec.period, Index().frames()[0].pts);
    const int64_t last = std::max<int64_t>(looks.size() - spec.Span(), 0);
    for (const int64_t count : {1, 2, 3, 10}) {
      spec.clips_per_video = count;
      for (int64_t clip = 0; clip < count; ++clip) {
        CheckSelect(spec, Index(), clip, count == 1 ? last / 2 : last * clip / (count - 1), looks);
      }
    }
  }
}

TEST_P(ClipSpecTest, CenterAndStart) {
  for (const ClipSampling sampling : {ClipSampling::kCenter, ClipSampling::kStart}) {
    for (const ClipSpec& spec : Specs(sampling)) {
      const std::vector<int64_t> looks = Looks(Index(), spec.period, Index().frames()[0].pts);
      const int64_t last = std::max<int64_t>(looks.size() - spec.Span(), 0);
      CheckSelect(spec, Index(), 0, sampling == ClipSampling::kCenter ? last / 2 : 0, looks);
    }
  }
}

TEST_P(ClipSpecTest, RandomDependsOnlyOnSeedAndClip) {
  for (ClipSpec spec : Specs(ClipSampling::kRandom)) {
    spec.clips_per_video = 3;
    const std::vector<int64_t> looks = Looks(Index(), spec.period, Index().frames()[0].pts);
    const int64_t last = std::max<int64_t>(looks.size() - spec.Span(), 0);
    std::set<std::vector<int64_t>> seen;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto clip = spec.Select(Index(), seed % 3, seed);
      if (spec.pad == ClipPad::kDrop && spec.Span() > static_cast<int64_t>(looks.size())) {
        ASSERT_TRUE(absl::IsNotFound(clip.status()));
        continue;
      }
      ASSERT_TRUE(clip.ok()) << clip.status();
      ExpectSame(*clip, *spec.Select(Index(), seed % 3, seed), "again");
      bool possible = false;
      for (int64_t start = 0; start <= last && !possible; ++start) {
        possible = clip->frames == Reference(spec, looks, start, looks).frames;
      }
      EXPECT_TRUE(possible) << Describe(spec);
      seen.insert(clip->frames);
    }
    if (last > 50 && spec.period == 0) {
      EXPECT_GT(seen.size(), 10) << Describe(spec);
    }
  }
}

TEST(ClipSpecRandomTest, EveryStartIsEquallyLikely) {
  ClipSpec spec;
  spec.sampling = ClipSampling::kRandom;
  spec.length = 51;  // of 60 frames, so that a clip has ten possible starts
  std::vector<int> counts(10);
  for (uint64_t seed = 0; seed < 5000; ++seed) ++counts[spec.Select(Short(), 0, seed)->frames[0]];
  for (const int count : counts) EXPECT_NEAR(count, 500, 90);
}

TEST_P(ClipSpecTest, AtGivenTimes) {
  const FrameIndex& index = Index();
  for (const ClipSpec& spec : Specs(ClipSampling::kAt)) {
    const std::vector<int64_t> all = Looks(index, spec.period, index.frames()[0].pts);
    for (const int64_t frame : {int64_t{0}, int64_t{1}, int64_t{33}, index.num_frames() - 1}) {
      const double begin = index.frames()[frame].pts;
      for (const double seconds : {begin, begin + 0.01}) {
        const auto selected = spec.SelectAt(index, seconds);
        const std::string what = Describe(spec) + ", at " + std::to_string(seconds);
        const std::vector<int64_t> looks =
            spec.period == 0 ? all : Looks(index, spec.period, seconds);
        const int64_t start = spec.period == 0 ? frame : 0;
        if (spec.pad == ClipPad::kDrop &&
            start + spec.Span() > static_cast<int64_t>(looks.size())) {
          EXPECT_TRUE(absl::IsNotFound(selected.status())) << what;
          continue;
        }
        ASSERT_TRUE(selected.ok()) << what << selected.status();
        EXPECT_EQ(selected->frames[0], frame) << what;
        ExpectSame(*selected, Reference(spec, looks, start, all), what);
      }
    }
    for (const double outside : {-0.1, index.frames()[0].pts + index.duration() + 0.001, 1e9,
                                 std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(spec.SelectAt(index, outside).status())) << outside;
    }
  }
}

// Returns an index that has only the frames of the segment, as a video of its own. `first` becomes
// the number of its first frame in the whole video.
FrameIndex Alone(const FrameIndex& index, const TimeSegment& segment, int64_t* first) {
  IndexParts parts;
  *first = -1;
  for (int64_t i = 0; i < index.num_frames(); ++i) {
    FrameEntry frame = index.frames()[i];
    if (frame.pts < segment.start - 1e-6 || frame.pts >= segment.end - 1e-6) continue;
    if (*first < 0) *first = i;
    frame.duration = std::min(frame.duration, segment.end - frame.pts);
    parts.frames.push_back(frame);
  }
  return FrameIndex(std::move(parts));
}

void ExpectShifted(const absl::StatusOr<Clip>& got, const absl::StatusOr<Clip>& alone,
                   int64_t first, const std::string& what) {
  ASSERT_EQ(got.status().code(), alone.status().code()) << what << got.status();
  if (!got.ok()) return;
  Clip want = *alone;
  for (int64_t& frame : want.frames) frame += first;
  ExpectSame(*got, want, what);
}

TEST_P(ClipSpecTest, ASegmentIsLikeAVideoOfItsFrames) {
  const FrameIndex& index = Index();
  const double begin = index.frames()[0].pts;
  for (const TimeSegment segment :
       {TimeSegment{begin + 0.35, begin + 1.31}, TimeSegment{begin + 0.4, begin + 0.8},
        TimeSegment{begin, begin + 0.03}, TimeSegment{begin + 0.79, 1e9}}) {
    int64_t first = 0;
    const FrameIndex alone = Alone(index, segment, &first);
    ASSERT_GT(alone.num_frames(), 0);
    for (const ClipSampling sampling :
         {ClipSampling::kAll, ClipSampling::kUniform, ClipSampling::kRandom, ClipSampling::kCenter,
          ClipSampling::kStart}) {
      for (ClipSpec spec : Specs(sampling)) {
        const bool one = sampling == ClipSampling::kCenter || sampling == ClipSampling::kStart;
        spec.clips_per_video = one ? 1 : 3;
        ASSERT_EQ(spec.CountAll(index, segment), spec.CountAll(alone)) << Describe(spec);
        for (int64_t clip = 0; clip < 4; ++clip) {
          ExpectShifted(spec.Select(index, clip, 5, segment), spec.Select(alone, clip, 5), first,
                        Describe(spec) + ", clip " + std::to_string(clip));
        }
      }
    }
    for (const ClipSpec& spec : Specs(ClipSampling::kAt)) {
      for (const double seconds : {alone.frames()[0].pts, alone.frames().back().pts + 0.01}) {
        ExpectShifted(spec.SelectAt(index, seconds, 0, segment), spec.SelectAt(alone, seconds),
                      first, Describe(spec) + ", at " + std::to_string(seconds));
      }
    }
  }
}

TEST(ClipSpecSegmentTest, ATimeBeforeTheFirstFrameOfTheSegmentMeansThatFrame) {
  ClipSpec spec;
  spec.length = 2;
  for (const double period : {0.0, 0.04}) {
    spec.period = period;
    const double second = Short().frames()[1].pts;
    // The frame on screen is the first of the video, which is not in the segment.
    const auto clip = spec.SelectAt(Short(), second - 0.01, 0, {second - 0.02, 9});
    ASSERT_TRUE(clip.ok()) << clip.status();
    EXPECT_THAT(clip->frames, ElementsAre(1, 2));
  }
}

TEST(ClipSpecSegmentTest, TimesMayBeRounded) {
  ClipSpec spec;
  spec.length = 1;
  const auto& frames = Short().frames();
  for (const double rounding : {-1e-7, 0.0, 1e-7}) {
    const TimeSegment segment{frames[3].pts + rounding, frames[5].pts + rounding};
    EXPECT_THAT(spec.Select(Short(), 0, 0, segment)->frames, ElementsAre(3));
    spec.step = 1;
    EXPECT_EQ(spec.CountAll(Short(), segment), 2);
  }
}

TEST(ClipSpecSegmentTest, ErrorsNameTheSegment) {
  ClipSpec spec;
  const auto at = [&](double seconds) {
    return std::string(spec.SelectAt(Short(), seconds, 0, {0.5, 1}).status().message());
  };
  EXPECT_THAT(at(0.4), HasSubstr("0.4 s, which is outside the row's segment [0.5, 1) s"));
  EXPECT_THAT(at(1), HasSubstr("outside the row's segment"));
  EXPECT_THAT(at(std::numeric_limits<double>::quiet_NaN()), HasSubstr("nan"));
  const absl::Status none = spec.Select(Short(), 0, 0, {60, 70}).status();
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_THAT(none.message(), HasSubstr("the segment [60, 70) s has no frame"));
  spec.pad = ClipPad::kDrop;
  EXPECT_EQ(spec.CountAll(Short(), {60, 70}), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const TimeSegment wrong :
       {TimeSegment{-1, 2}, TimeSegment{2, 2}, TimeSegment{3, 2}, TimeSegment{nan, 2},
        TimeSegment{0, nan}, TimeSegment{1.0 / 0.0, 1.0 / 0.0}}) {
    EXPECT_THAT(wrong.Validate().message(), HasSubstr("needs 0 <= start < end"));
  }
  EXPECT_TRUE((TimeSegment{0, 1.0 / 0.0}).Validate().ok());
}

TEST(ClipSpecSmallTest, PadsAsDocumented) {
  ClipSpec spec;
  spec.length = 4;
  spec.stride = 25;
  const auto frames = [&](ClipPad pad) {
    spec.pad = pad;
    return *spec.Select(Short(), 0, 0);
  };
  EXPECT_THAT(frames(ClipPad::kRepeat).frames, ElementsAre(0, 25, 50, 59));
  EXPECT_THAT(frames(ClipPad::kWrap).frames, ElementsAre(0, 25, 50, 15));
  EXPECT_THAT(frames(ClipPad::kZero).frames, ElementsAre(0, 25, 50));
  EXPECT_EQ(frames(ClipPad::kZero).zeros, 1);
  EXPECT_EQ(frames(ClipPad::kZero).own, 3);
  spec.pad = ClipPad::kDrop;
  EXPECT_EQ(spec.CountAll(Short()), 0);
}

TEST(ClipSpecSmallTest, ADroppedClipSaysWhatItNeeds) {
  ClipSpec spec;
  spec.sampling = ClipSampling::kStart;
  spec.length = 61;
  spec.pad = ClipPad::kDrop;
  const absl::Status status = spec.Select(Short(), 0, 0).status();
  EXPECT_THAT(status.message(), HasSubstr("60"));
  EXPECT_THAT(status.message(), HasSubstr("61"));
  EXPECT_THAT(status.message(), HasSubstr("pad=\"repeat\""));
}

TEST(ClipSpecValidateTest, NamesTheFieldAndItsBounds) {
  EXPECT_TRUE(ClipSpec().Validate().ok());
  const auto message = [](void (*change)(ClipSpec*)) {
    ClipSpec spec;
    change(&spec);
    const absl::Status status = spec.Validate();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message([](ClipSpec* s) { s->length = 0; }), HasSubstr("clip_length"));
  EXPECT_THAT(message([](ClipSpec* s) { s->stride = -3; }), HasSubstr("stride"));
  EXPECT_THAT(message([](ClipSpec* s) { s->stride = -3; }), HasSubstr("-3"));
  EXPECT_THAT(message([](ClipSpec* s) { s->step = 0; }), HasSubstr("clip_step"));
  EXPECT_THAT(message([](ClipSpec* s) { s->clips_per_video = 0; }), HasSubstr("clips_per_video"));
  EXPECT_THAT(message([](ClipSpec* s) { s->length = (1 << 30) + 1; }), HasSubstr("1073741824"));
  for (const double period : {-1.0, 1e-9, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    ClipSpec spec;
    spec.period = period;
    EXPECT_TRUE(absl::IsInvalidArgument(spec.Validate())) << period;
  }
  for (const ClipSampling sampling : {ClipSampling::kCenter, ClipSampling::kStart}) {
    ClipSpec spec;
    spec.sampling = sampling;
    spec.clips_per_video = 2;
    EXPECT_THAT(spec.Validate().message(), HasSubstr("uniform"));
  }
}

TEST(ClipSpecValidateTest, TheLargestValuesDoNotOverflow) {
  ClipSpec spec;
  spec.length = spec.stride = spec.step = int64_t{1} << 30;
  ASSERT_TRUE(spec.Validate().ok());
  EXPECT_EQ(spec.CountAll(Short()), 1);
  spec.pad = ClipPad::kDrop;
  EXPECT_TRUE(absl::IsInvalidArgument(spec.Select(Short(), 0, 0).status()));
}

TEST(ClipSpecParseTest, Names) {
  EXPECT_EQ(*ParseClipSampling("all"), ClipSampling::kAll);
  EXPECT_EQ(*ParseClipSampling("uniform"), ClipSampling::kUniform);
  EXPECT_EQ(*ParseClipSampling("random"), ClipSampling::kRandom);
  EXPECT_EQ(*ParseClipSampling("center"), ClipSampling::kCenter);
  EXPECT_EQ(*ParseClipSampling("start"), ClipSampling::kStart);
  EXPECT_EQ(*ParseClipSampling("at"), ClipSampling::kAt);
  EXPECT_EQ(*ParseClipPad("drop"), ClipPad::kDrop);
  EXPECT_EQ(*ParseClipPad("zero"), ClipPad::kZero);
  EXPECT_EQ(*ParseClipPad("repeat"), ClipPad::kRepeat);
  EXPECT_EQ(*ParseClipPad("wrap"), ClipPad::kWrap);
  EXPECT_THAT(ParseClipSampling("Random").status().message(), HasSubstr("one of: all, uniform"));
  EXPECT_THAT(ParseClipPad("").status().message(), HasSubstr("one of: drop, zero"));
}

TEST(ClipSpecLimitsTest, FramesMayBeVeryFarApart) {
  std::string bytes = RealClip();
  const size_t edits = bytes.find("edts");
  ASSERT_NE(edits, std::string::npos);
  bytes.replace(edits, 4, "free");  // hides the edit list, which would end the video after 5 s
  const size_t table = bytes.find("stts");
  ASSERT_NE(table, std::string::npos);
  ASSERT_EQ(bytes.substr(table + 8, 4), std::string("\0\0\0\1", 4));
  bytes.replace(table + 16, 4, "\x7f\xff\xff\xff");  // the duration of each frame
  const auto built = FrameIndex::Build(MemorySource(bytes), {}, nullptr);
  ASSERT_TRUE(built.ok()) << built.status();
  const FrameIndex& index = *built;
  ClipSpec spec;
  spec.sampling = ClipSampling::kUniform;
  spec.length = spec.stride = 1;
  spec.period = 1e-6;
  spec.clips_per_video = int64_t{1} << 30;
  ASSERT_TRUE(spec.Validate().ok());
  const int64_t last = spec.clips_per_video - 1;
  EXPECT_THAT(spec.Select(index, 0, 0)->frames, ElementsAre(0));
  EXPECT_THAT(spec.Select(index, last / 2, 0)->frames, ElementsAre(kRealClipFrames / 2 - 1));
  EXPECT_THAT(spec.Select(index, last, 0)->frames, ElementsAre(kRealClipFrames - 1));
}

}  // namespace
}  // namespace nvc
