#include "tf_nvcodec/core/demuxer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/test_media.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

absl::Status OpenError(const std::string& bytes) {
  const MemorySource source(bytes);
  return Demuxer::Open(source, nullptr).status();
}

TEST(DemuxerTest, ReadsTheStreamsDescription) {
  const MemorySource source(RealClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok()) << demuxer.status();
  const StreamInfo& stream = (*demuxer)->stream();
  EXPECT_THAT(stream.container, HasSubstr("mp4"));
  EXPECT_EQ(stream.codec->codec_id, AV_CODEC_ID_H264);
  EXPECT_EQ(stream.codec->width, 1280);
  EXPECT_TRUE(stream.has_audio);
  EXPECT_EQ(stream.rotation, 0);
}

TEST(DemuxerTest, GivesOnlyVideoPackets) {
  const MemorySource source(RealClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok());
  AvPacketPtr packet(av_packet_alloc());
  int packets = 0;
  while ((*demuxer)->Next(packet.get()).value()) ++packets;
  EXPECT_EQ(packets, kRealClipFrames);
  EXPECT_EQ((*demuxer)->damage(), "");
}

TEST(DemuxerTest, NamesWhatIsWrongWithBadBytes) {
  EXPECT_THAT(OpenError("").message(), HasSubstr("empty"));
  const absl::Status garbage = OpenError(std::string(5000, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(garbage));
  EXPECT_THAT(garbage.message(), HasSubstr("5000 bytes"));
}

TEST(DemuxerTest, RefusesFormatsThatOpenOtherFiles) {
  for (const std::string& playlist :
       {std::string("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:clip.ts\n"),
        std::string("ffconcat version 1.0\nfile clip.mp4\n"),
        std::string("v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n"
                    "a=rtpmap:96 H264/90000\n")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenError(playlist))) << playlist;
  }
}

TEST(DemuxerTest, CancelledWhileOpening) {
  const MemorySource source(RealClip());
  const auto demuxer = Demuxer::Open(source, [] { return true; });
  EXPECT_TRUE(absl::IsCancelled(demuxer.status())) << demuxer.status();
}

TEST(DemuxerTest, ATruncatedContainerEndsEarly) {
  const std::string& clip = RealClip();
  const MemorySource source(absl::string_view(clip).substr(0, clip.size() / 2));
  auto demuxer = Demuxer::Open(source, nullptr);
  if (!demuxer.ok()) GTEST_SKIP() << "its header is at the end: " << demuxer.status();
  AvPacketPtr packet(av_packet_alloc());
  int packets = 0;
  while ((*demuxer)->Next(packet.get()).value()) ++packets;
  EXPECT_LT(packets, kRealClipFrames);
}

}  // namespace
}  // namespace nvc
