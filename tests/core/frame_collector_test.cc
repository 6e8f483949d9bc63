#include "tf_nvcodec/core/frame_collector.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/test_media.h"
#include "tf_nvcodec/core/av_ptr.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSide = 8;

AvFramePtr GrayPicture(uint8_t value, int side = kSide) {
  AvFramePtr frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_GRAY8;
  frame->width = frame->height = side;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  for (int y = 0; y < side; ++y) {
    std::fill_n(frame->data[0] + y * frame->linesize[0], side, value);
  }
  return frame;
}

class FrameCollectorTest : public ::testing::Test {
 protected:
  FrameCollectorTest()
      : source_(RealClip()), index_(FrameIndex::Build(source_, {}, nullptr).value()) {}

  // Collects `frames`, whose pictures have the grey value 10 * index, and returns the first byte of
  // each slot left.
  absl::StatusOr<std::vector<int>> Collect(const std::vector<int64_t>& frames,
                                           const DamagedFrames& damaged, OnError on_error) {
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    std::vector<uint8_t> memory;
    FrameCollector collector(output, 0, frames, [&](const FrameShape& shape, int64_t count) {
      memory.resize(shape.bytes * static_cast<size_t>(count));
      return memory.data();
    });
    collector.Start(1);
    for (const int64_t frame : frames) {
      const auto picture = GrayPicture(static_cast<uint8_t>(10 * frame));
      const absl::Status written = collector.Write(0, static_cast<int>(frame), *picture);
      if (!written.ok()) return written;
    }
    auto valid = collector.Finish(index_, damaged, on_error, &slots_);
    if (!valid.ok()) return valid.status();
    valid_ = *valid;
    std::vector<int> values;
    for (size_t i = 0; i < slots_.size(); ++i) values.push_back(memory[i * kSide * kSide]);
    return values;
  }

  MemorySource source_;
  FrameIndex index_;
  std::vector<size_t> slots_;
  std::vector<bool> valid_;
  const DamagedFrames two_bad_ = {{1, absl::DataLossError("bits")}, {2, absl::DataLossError("x")}};
};

TEST_F(FrameCollectorTest, KeepsOrderAndDuplicates) {
  EXPECT_THAT(*Collect({5, 3, 5, 0, 3}, {}, OnError::kRaise), ElementsAre(50, 30, 50, 0, 30));
  EXPECT_THAT(valid_, ElementsAre(true, true, true, true, true));
}

TEST_F(FrameCollectorTest, RaiseNamesFrameAndCause) {
  const auto raised = Collect({0, 1, 2}, two_bad_, OnError::kRaise);
  EXPECT_TRUE(absl::IsDataLoss(raised.status()));
  EXPECT_THAT(raised.status().message(), HasSubstr("frame 1 (0.04 s)"));
  EXPECT_THAT(raised.status().message(), HasSubstr("bits"));
}

TEST_F(FrameCollectorTest, SkipLeavesThemOut) {
  EXPECT_THAT(*Collect({0, 1, 2, 3, 1, 4}, two_bad_, OnError::kSkip), ElementsAre(0, 30, 40));
  EXPECT_THAT(slots_, ElementsAre(0, 3, 5));
  EXPECT_THAT(valid_, ElementsAre(true, true, true));
}

TEST_F(FrameCollectorTest, RepeatPutsTheLastGoodOneOrTheFirst) {
  EXPECT_THAT(*Collect({2, 0, 1, 2, 3}, two_bad_, OnError::kRepeat), ElementsAre(0, 0, 0, 0, 30));
  EXPECT_THAT(valid_, ElementsAre(false, true, false, false, true));
}

TEST_F(FrameCollectorTest, WithNothingGoodThereIsNothingToRepeatAndAllToSkip) {
  for (const OnError policy : {OnError::kRaise, OnError::kRepeat}) {
    EXPECT_TRUE(absl::IsDataLoss(Collect({1, 2}, two_bad_, policy).status()));
  }
  EXPECT_THAT(*Collect({1, 2}, two_bad_, OnError::kSkip), ElementsAre());
}

TEST_F(FrameCollectorTest, AnotherSizeInsideTheStreamIsAnError) {
  const std::vector<int64_t> frames = {0, 1};
  std::vector<uint8_t> memory(2 * kSide * kSide);
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  FrameCollector collector(output, 0, frames,
                           [&](const FrameShape&, int64_t) { return memory.data(); });
  collector.Start(1);
  ASSERT_TRUE(collector.Write(0, 0, *GrayPicture(1)).ok());
  const absl::Status changed = collector.Write(0, 1, *GrayPicture(1, 4));
  EXPECT_TRUE(absl::IsInvalidArgument(changed));
  EXPECT_THAT(changed.message(), HasSubstr("size="));
}

TEST(ParseOnErrorTest, ListsWhatIsAllowed) {
  EXPECT_EQ(*ParseOnError("repeat"), OnError::kRepeat);
  EXPECT_THAT(ParseOnError("ignore").status().message(), HasSubstr("raise, skip, repeat"));
}

}  // namespace
}  // namespace nvc
