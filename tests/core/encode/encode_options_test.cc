#include "tf_nvcodec/core/encode/encode_options.h"

#include <functional>
#include <limits>
#include <string>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(EncodeOptionsTest, NamesParseToThemselves) {
  for (const char* name : {"h264", "hevc", "av1", "vp9", "mjpeg", "ffv1"}) {
    const auto codec = ParseEncodeCodec(name);
    ASSERT_TRUE(codec.ok()) << codec.status();
    EXPECT_STREQ(TraitsOf(*codec).name, name);
  }
  for (const char* name : {"mp4", "mov", "mkv", "webm", "avi", "ts", "raw", "ivf", "obu"}) {
    const auto container = ParseEncodeContainer(name);
    ASSERT_TRUE(container.ok()) << container.status();
    EXPECT_STREQ(TraitsOf(*container).name, name);
  }
}

TEST(EncodeOptionsTest, TheCodecTableNamesCodecsAndContainers) {
  for (const CodecFacts& row : kCodecTable) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(ParseEncodeCodec(row.name).ok(), row.encoding.encoder != nullptr);
    if (row.encoding.encoder == nullptr) continue;
    for (const absl::string_view name : absl::StrSplit(row.encoding.containers, ' ')) {
      EXPECT_TRUE(ParseEncodeContainer(name).ok()) << name;
    }
  }
}

TEST(EncodeOptionsTest, UnknownNamesListWhatThereIs) {
  EXPECT_THAT(std::string(ParseEncodeCodec("h265").status().message()),
              AllOf(HasSubstr("h265"), HasSubstr("h264, hevc, av1, vp9, mjpeg, ffv1")));
  EXPECT_THAT(std::string(ParseEncodeContainer("flv").status().message()),
              AllOf(HasSubstr("flv"), HasSubstr("mp4, mov, mkv, webm, avi, ts, raw, ivf, obu")));
}

TEST(EncodeOptionsTest, DefaultsAreValid) {
  for (const EncodeCodec codec : {EncodeCodec::kH264, EncodeCodec::kHevc, EncodeCodec::kAv1,
                                  EncodeCodec::kVp9, EncodeCodec::kMjpeg, EncodeCodec::kFfv1}) {
    EncodeOptions options;
    options.codec = codec;
    options.container = EncodeContainer::kMkv;
    EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  }
}

TEST(EncodeOptionsTest, AContainerThatDoesNotFitListsThoseThatDo) {
  EncodeOptions options;
  options.codec = EncodeCodec::kFfv1;
  EXPECT_EQ(options.Validate().message(),
            "container mp4 can't hold codec ffv1; containers that can: mov, mkv, avi");
}

struct BadOptions {
  const char* what;
  EncodeCodec codec;
  std::function<void(EncodeOptions*)> change;
  const char* words;
};

TEST(EncodeOptionsTest, RefusesWhatTheCodecCannotTake) {
  const auto quality = [](double value) {
    return [value](EncodeOptions* options) { options->quality = value; };
  };
  const BadOptions all[] = {
      {"crf", EncodeCodec::kH264, quality(52), "from 0 (best) to 51; got 52"},
      {"crf", EncodeCodec::kHevc, quality(-2), "got -2"},
      {"crf", EncodeCodec::kH264, quality(std::numeric_limits<double>::quiet_NaN()), "got nan"},
      {"crf", EncodeCodec::kAv1, quality(0), "from 1 (best) to 63"},
      {"crf", EncodeCodec::kVp9, quality(30.5), "a whole number"},
      {"crf", EncodeCodec::kMjpeg, quality(32), "from 1 (best) to 31"},
      {"crf", EncodeCodec::kFfv1, quality(1), "lossless and takes no crf"},
      {"bitrate", EncodeCodec::kFfv1, [](EncodeOptions* o) { o->bitrate = 1000000; },
       "lossless and takes no bitrate"},
      {"bitrate", EncodeCodec::kH264, [](EncodeOptions* o) { o->bitrate = 999; }, "from 1000"},
      {"bitrate", EncodeCodec::kH264, [](EncodeOptions* o) { o->bitrate = -5; }, "got -5"},
      {"bitrate", EncodeCodec::kAv1, [](EncodeOptions* o) { o->bitrate = 100000001; },
       "to 100000000"},
      {"both", EncodeCodec::kH264,
       [](EncodeOptions* o) {
         o->quality = 20;
         o->bitrate = 1000000;
       },
       "exclude each other"},
      {"gop", EncodeCodec::kH264, [](EncodeOptions* o) { o->gop = -1; }, "gop must be from 1"},
      {"key frames", EncodeCodec::kAv1,
       [](EncodeOptions* o) {
         o->gop = 1;
         o->bitrate = 1000000;
       },
       "gop 1 and bitrate exclude"},
      {"gop", EncodeCodec::kMjpeg, [](EncodeOptions* o) { o->gop = 2; }, "gop must be 1; got 2"},
      {"bf", EncodeCodec::kH264, [](EncodeOptions* o) { o->max_b_frames = 17; }, "from 0 to 16"},
      {"bf", EncodeCodec::kHevc, [](EncodeOptions* o) { o->max_b_frames = -2; }, "got -2"},
      {"bf", EncodeCodec::kVp9, [](EncodeOptions* o) { o->max_b_frames = 1; }, "no B-frames"},
      {"preset", EncodeCodec::kH264, [](EncodeOptions* o) { o->preset = "fastest"; },
       "ultrafast, superfast"},
      {"preset", EncodeCodec::kAv1, [](EncodeOptions* o) { o->preset = "14"; }, "12, 13; got"},
      {"preset", EncodeCodec::kMjpeg, [](EncodeOptions* o) { o->preset = "fast"; }, "no presets"},
      {"threads", EncodeCodec::kH264, [](EncodeOptions* o) { o->num_threads = 65; }, "to 64"},
      {"threads", EncodeCodec::kH264, [](EncodeOptions* o) { o->num_threads = -1; }, "got -1"},
      {"fragments", EncodeCodec::kH264, [](EncodeOptions* o) { o->fragmented = true; },
       "needs container mp4 or mov"},
  };
  for (const BadOptions& bad : all) {
    EncodeOptions options;
    options.codec = bad.codec;
    options.container = EncodeContainer::kMkv;
    bad.change(&options);
    const absl::Status status = options.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.words)) << bad.what;
  }
}

TEST(EncodeOptionsTest, AviTakesNoBFrames) {
  EncodeOptions options;
  options.container = EncodeContainer::kAvi;
  options.max_b_frames = 1;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("use container mp4 or mkv"));
  options.max_b_frames = 0;
  EXPECT_TRUE(options.Validate().ok());
}

}  // namespace
}  // namespace nvc
