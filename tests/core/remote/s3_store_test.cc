#include "tf_nvcodec/core/remote/s3_store.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;

AwsSettings At(const std::string& region, const std::string& endpoint = "") {
  AwsSettings settings;
  settings.region = region;
  settings.endpoint = endpoint;
  return settings;
}

TEST(S3NameTest, SplitsBucketAndKey) {
  const S3Name name = ParseS3Name("s3://my.bucket/a/b?c.mp4").value();
  EXPECT_EQ(name.bucket, "my.bucket");
  EXPECT_EQ(name.key, "a/b?c.mp4");
  EXPECT_EQ(ParseS3Name("s3://bucket")->key, "");
  EXPECT_EQ(ParseS3Name("s3://bucket/")->key, "");
}

TEST(S3NameTest, RefusesWhatWouldBeAnotherHost) {
  for (const char* name : {"s3://", "s3:///key", "s3://host:80/key", "s3://user@host/key",
                           "s3://a?b/key", "s3://a#b/key", "https://a/b", "s3:"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseS3Name(name).status())) << name;
  }
}

TEST(S3UrlTest, NamesTheHost) {
  EXPECT_EQ(S3Url(At("eu-west-3"), {"videos", "a/b.mp4"}),
            "https://videos.s3.eu-west-3.amazonaws.com/a/b.mp4");
  EXPECT_EQ(S3Url(At("cn-north-1"), {"videos", ""}, "list-type=2"),
            "https://videos.s3.cn-north-1.amazonaws.com.cn/?list-type=2");
  EXPECT_EQ(S3Url(At("eu-west-3"), {"my.videos", "a"}),
            "https://s3.eu-west-3.amazonaws.com/my.videos/a");
  EXPECT_EQ(S3Url(At("x", "http://host:9000"), {"videos", "a"}), "http://host:9000/videos/a");
}

TEST(S3UrlTest, EscapesTheKey) {
  EXPECT_EQ(S3Url(At("x", "http://h"), {"b", "A-z_0.~/ +&=?#%\xc3\xb6/../c"}),
            "http://h/b/A-z_0.~/%20%2B%26%3D%3F%23%25%C3%B6/../c");
}

TEST(S3PageTest, ReadsObjectsAndFolders) {
  const S3Page page = ParseS3Page(R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>videos</Name>
<IsTruncated>true</IsTruncated><NextContinuationToken>1/a&amp;b=</NextContinuationToken>
<Contents><Key>a &amp;lt; b&#38;&#x26;&#233;&quot;.mp4</Key>
<LastModified>2023-11-14T22:13:20.000Z</LastModified><Size>12345678901</Size></Contents>
<Contents><Size>0</Size><Key>&unknown; &amp</Key></Contents>
<CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes></ListBucketResult>)")
                          .value();
  ASSERT_EQ(page.objects.size(), 2u);
  EXPECT_EQ(page.objects[0].key, "a &lt; b&&\xc3\xa9\".mp4");
  EXPECT_EQ(page.objects[0].size, 12345678901);
  EXPECT_EQ(page.objects[0].mtime_ns, int64_t{1'700'000'000} * 1'000'000'000);
  EXPECT_EQ(page.objects[1].key, "&unknown; &amp");
  EXPECT_THAT(page.folders, ElementsAre("c/"));
  EXPECT_EQ(page.next, "1/a&b=");
}

TEST(S3PageTest, TheLastPageHasNoNext) {
  const S3Page page =
      ParseS3Page("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>").value();
  EXPECT_TRUE(page.objects.empty());
  EXPECT_EQ(page.next, "");
}

TEST(S3PageTest, RefusesOtherAnswers) {
  EXPECT_FALSE(ParseS3Page("<html>Sign in</html>").ok());
  EXPECT_FALSE(ParseS3Page("").ok());
}

TEST(RemoteFileTest, ReadsTimes) {
  const int64_t expected = int64_t{784111777} * 1'000'000'000;
  EXPECT_EQ(TimeNs("Sun, 06 Nov 1994 08:49:37 GMT"), expected);
  EXPECT_EQ(TimeNs("1994-11-06T08:49:37.123Z"), expected);
  EXPECT_EQ(TimeNs("1994-11-06T08:49:37Z"), expected);
  EXPECT_EQ(TimeNs("yesterday"), 0);
  EXPECT_EQ(TimeNs(""), 0);
}

TEST(RemoteFileTest, ShowsNoQuery) {
  EXPECT_EQ(ShownName("https://h/a.mp4?X-Amz-Signature=1"), "https://h/a.mp4?...");
  EXPECT_EQ(ShownName("https://h/a.mp4"), "https://h/a.mp4");
  EXPECT_EQ(ShownName("s3://b/a?b.mp4"), "s3://b/a?b.mp4");
}

}  // namespace
}  // namespace nvc
