#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::ContainsRegex;
using ::testing::MatchesRegex;

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

}  // namespace
}  // namespace nvc
