#include "tf_nvcodec/core/decode/frame_collector.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

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

  // Collects `frames`, whose pictures have the grey value 10 * index. Returns the first byte of
  // each slot that Finish keeps.
  absl::StatusOr<std::vector<int>> Collect(const std::vector<int64_t>& frames,
                                           const DamagedFrames& damaged, OnError on_error) {
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    std::vector<uint8_t> memory;
    HostTarget target;
    FrameCollector collector(
        output, {}, frames,
        [&](const FrameShape& shape, int64_t count) {
          memory.resize(shape.bytes * static_cast<size_t>(count));
          return memory.data();
        },
        &target);
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

TEST_F(FrameCollectorTest, SkipLeavesOutDamagedFrames) {
  EXPECT_THAT(*Collect({0, 1, 2, 3, 1, 4}, two_bad_, OnError::kSkip), ElementsAre(0, 30, 40));
  EXPECT_THAT(slots_, ElementsAre(0, 3, 5));
  EXPECT_THAT(valid_, ElementsAre(true, true, true));
}

TEST_F(FrameCollectorTest, RepeatUsesTheLastGoodFrameOrTheFirst) {
  EXPECT_THAT(*Collect({2, 0, 1, 2, 3}, two_bad_, OnError::kRepeat), ElementsAre(0, 0, 0, 0, 30));
  EXPECT_THAT(valid_, ElementsAre(false, true, false, false, true));
}

TEST_F(FrameCollectorTest, WithoutGoodFramesRepeatFailsAndSkipIsEmpty) {
  for (const OnError policy : {OnError::kRaise, OnError::kRepeat}) {
    EXPECT_TRUE(absl::IsDataLoss(Collect({1, 2}, two_bad_, policy).status()));
  }
  EXPECT_THAT(*Collect({1, 2}, two_bad_, OnError::kSkip), ElementsAre());
}

// The threads of a read may bring later frames first.
TEST_F(FrameCollectorTest, ANewSizeIsReportedWhereItBeginsInTheOrderOfDisplay) {
  const std::vector<int64_t> frames = {12, 11, 9, 10, 8, 7};
  const DamagedFrames damaged = {{9, absl::DataLossError("bits")}};
  for (const std::vector<int>& order : {std::vector<int>{7, 8, 10, 11, 12}, {11, 10, 7, 12, 8}}) {
    std::vector<uint8_t> memory(frames.size() * kSide * kSide);
    OutputSpec output;
    output.pixel_format = PixelFormat::kNative;
    HostTarget target;
    FrameCollector collector(
        output, {}, frames, [&](const FrameShape&, int64_t) { return memory.data(); }, &target);
    collector.Start(1);
    for (const int frame : order) {
      ASSERT_TRUE(collector.Write(0, frame, *GrayPicture(1, frame < 10 ? kSide : 4)).ok());
    }
    const auto valid = collector.Finish(index_, damaged, OnError::kSkip, &slots_);
    EXPECT_TRUE(absl::IsInvalidArgument(valid.status()));
    EXPECT_THAT(valid.status().message(), HasSubstr("frame 10 gives 4x4, frame 8 8x8; pass size="));
  }
}

// Logs its calls. It stands in for a target whose frames are complete only after Finish.
class LateTarget : public HostTarget {
 public:
  class Converter : public FrameConverter {
   public:
    Converter(LateTarget* target, std::unique_ptr<FrameConverter> host)
        : FrameConverter(host->source(), host->shape()), target_(target), host_(std::move(host)) {
      ++target_->alive;
    }
    ~Converter() override { --target_->alive; }
    absl::Status Convert(const AVFrame& frame, void* out) override {
      target_->log.push_back(absl::StrCat("convert ", int{frame.data[0][0]}));
      return host_->Convert(frame, out);
    }

   private:
    LateTarget* const target_;
    std::unique_ptr<FrameConverter> host_;
  };

  absl::StatusOr<std::unique_ptr<FrameConverter>> NewConverter(const OutputSpec& output,
                                                               const AVFrame& picture,
                                                               Orientation orientation) override {
    log.push_back(absl::StrCat("new ", picture.format == AV_PIX_FMT_GRAY8 ? "host" : "gpu"));
    AVFrame host = picture;
    host.format = AV_PIX_FMT_GRAY8;
    auto converter = HostTarget::NewConverter(output, host, orientation);
    if (!converter.ok()) return converter.status();
    return std::make_unique<Converter>(this, std::move(converter).value());
  }
  SourceSpec SourceOf(const AVFrame& picture, Orientation orientation) const override {
    SourceSpec source = SourceSpec::Of(picture, orientation);
    source.format = AV_PIX_FMT_GRAY8;
    return source;
  }
  absl::Status Copy(void* to, const void* from, size_t bytes) override {
    log.push_back("copy");
    return HostTarget::Copy(to, from, bytes);
  }
  absl::Status Finish() override {
    log.push_back(absl::StrCat("finish with ", alive));
    return finished;
  }

  std::vector<std::string> log;
  int alive = 0;
  absl::Status finished;
};

TEST_F(FrameCollectorTest, FinishesATargetAfterItsConvertersAndCopies) {
  const std::vector<int64_t> frames = {0, 1, 0, 2};
  const DamagedFrames damaged = {{2, absl::DataLossError("bits")}};
  std::vector<uint8_t> memory(4 * kSide * kSide);
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  for (const OnError policy : {OnError::kRepeat, OnError::kRaise}) {
    LateTarget target;
    FrameCollector collector(
        output, {}, frames, [&](const FrameShape&, int64_t) { return memory.data(); }, &target);
    collector.Start(1);
    for (const uint8_t frame : {0, 1}) {
      ASSERT_TRUE(collector.Write(0, frame, *GrayPicture(10 * frame + 5)).ok());
    }
    const auto valid = collector.Finish(index_, damaged, policy, &slots_);
    EXPECT_EQ(valid.ok(), policy == OnError::kRepeat);
    if (policy == OnError::kRaise) continue;
    EXPECT_THAT(target.log, ElementsAre("new host", "convert 5", "copy", "convert 15", "copy",
                                        "finish with 0"));
    EXPECT_EQ(memory[3 * kSide * kSide], 5) << "frame 0, the last good one";
  }
  LateTarget failing;
  failing.finished = absl::InternalError("the copy failed");
  const std::vector<int64_t> one = {0};
  FrameCollector collector(
      output, {}, one, [&](const FrameShape&, int64_t) { return memory.data(); }, &failing);
  collector.Start(1);
  ASSERT_TRUE(collector.Write(0, 0, *GrayPicture(1)).ok());
  EXPECT_TRUE(absl::IsInternal(collector.Finish(index_, {}, OnError::kRaise, &slots_).status()));
}

TEST_F(FrameCollectorTest, GpuAndHostPicturesHaveTheirOwnConverters) {
  const std::vector<int64_t> frames = {0, 1, 2};
  std::vector<uint8_t> memory(3 * kSide * kSide);
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  LateTarget target;
  FrameCollector collector(
      output, {}, frames, [&](const FrameShape&, int64_t) { return memory.data(); }, &target);
  collector.Start(1);
  for (const int frame : {0, 1, 2}) {
    const auto picture = GrayPicture(static_cast<uint8_t>(frame));
    if (frame < 2) {
      ASSERT_TRUE(collector.Write(0, frame, *picture).ok());
      continue;
    }
    // Only the format says that the picture is on the GPU; the test's pixels are in host memory.
    picture->format = AV_PIX_FMT_CUDA;
    EXPECT_TRUE(absl::IsInvalidArgument(collector.Write(0, frame, *picture)));
    EXPECT_EQ(target.alive, 1);
  }
  EXPECT_THAT(target.log,
              ElementsAre("new host", "convert 0", "convert 1", "new gpu", "convert 2"));
}

TEST(ParseOnErrorTest, ListsWhatIsAllowed) {
  EXPECT_EQ(*ParseOnError("repeat"), OnError::kRepeat);
  EXPECT_THAT(ParseOnError("ignore").status().message(), HasSubstr("raise, skip, repeat"));
}

TEST_F(FrameCollectorTest, ANewSampleFormatIsNotReportedAsANewSize) {
  OutputSpec output;
  output.pixel_format = PixelFormat::kNative;
  std::vector<uint8_t> memory;
  HostTarget target;
  const std::vector<int64_t> order = {0, 1};
  FrameCollector collector(
      output, {}, order,
      [&](const FrameShape& shape, int64_t count) {
        memory.resize(shape.bytes * static_cast<size_t>(count));
        return memory.data();
      },
      &target);
  collector.Start(1);
  ASSERT_TRUE(collector.Write(0, 0, *GrayPicture(1)).ok());
  AvFramePtr other(av_frame_alloc());
  other->format = AV_PIX_FMT_YUV444P;
  other->width = other->height = kSide;
  ASSERT_EQ(av_frame_get_buffer(other.get(), 0), 0);
  ASSERT_TRUE(collector.Write(0, 1, *other).ok());
  const absl::Status refused = collector.Finish(index_, {}, OnError::kRaise, &slots_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(refused.message(), HasSubstr("frame 1 (yuv444p) takes 192 bytes, frame 0 (gray) 64"));
  EXPECT_THAT(refused.message(), HasSubstr("pixel_format=\"rgb\""));
}

}  // namespace
}  // namespace nvc
