#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::ContainsRegex;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(FfmpegVersionsTest, LoadedLibrariesHaveTheMajorVersionOfTheHeaders) {
  const auto versions = FfmpegLibraryVersions();
  ASSERT_EQ(versions.size(), 4u);
  for (const LibraryVersion& version : versions) {
    EXPECT_THAT(version.library, MatchesRegex("lib(avformat|avcodec|avutil|swscale)"));
    EXPECT_THAT(version.run, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
    EXPECT_EQ(version.build.substr(0, version.build.find('.')),
              version.run.substr(0, version.run.find('.')))
        << version.library;
  }
}

TEST(FfmpegVersionsTest, NamesTheReleaseAndTheLicense) {
  EXPECT_THAT(FfmpegRelease(), ContainsRegex("[0-9]+\\.[0-9]+"));
  EXPECT_THAT(FfmpegLicense(), ContainsRegex("GPL"));
}

TEST(FfmpegVersionsTest, ListsTheCodecsOfVideo) {
  EXPECT_THAT(FfmpegVideoCodecs(false), ContainsRegex("(^|,)h264,"));
  EXPECT_THAT(FfmpegVideoCodecs(true), ContainsRegex("(^|,)mjpeg(,|$)"));
  EXPECT_THAT(FfmpegVideoCodecs(true), Not(ContainsRegex("(^|,)(aac|h264)(,|$)")));
}

}  // namespace
}  // namespace nvc
