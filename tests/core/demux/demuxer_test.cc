#include "tf_nvcodec/core/demux/demuxer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_TRUE(stream.orientation == Orientation{});
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

TEST(DemuxerTest, APathInsteadOfBytesGivesAHint) {
  const auto cured = HasSubstr("if that is a path, pass the bytes of its file");
  for (const char* path : {"clip.mp4", "/videos/\xc3\xbc.mkv", "gs://bucket/a clip"}) {
    EXPECT_THAT(OpenError(path).message(), cured) << path;
  }
  EXPECT_THAT(OpenError(std::string(4096, 'x')).message(), cured);
  for (const std::string& none :
       {std::string(4097, 'x'), std::string("clip\n"), std::string("\0\0\0\x18", 4)}) {
    EXPECT_THAT(OpenError(none).message(), Not(cured)) << none.size();
  }
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

// A source that can be read only once, in pieces, from the beginning to the end.
class Pipe : public ByteSource {
 public:
  explicit Pipe(const std::string& bytes) : bytes_(bytes) {}
  bool IsSequential() const override { return true; }
  int64_t Size() const override { return position_; }
  absl::StatusOr<size_t> ReadAt(int64_t offset, void* out, size_t count) const override {
    EXPECT_EQ(offset, position_);
    const size_t read = bytes_.copy(static_cast<char*>(out), std::min<size_t>(count, 1000),
                                    static_cast<size_t>(offset));
    position_ += static_cast<int64_t>(read);
    return read;
  }

 private:
  const std::string& bytes_;
  mutable int64_t position_ = 0;
};

TEST(DemuxerTest, ReadsAStreamOnce) {
  const Pipe pipe(BFramesClip());
  auto demuxer = Demuxer::Open(pipe, nullptr);
  ASSERT_TRUE(demuxer.ok()) << demuxer.status();
  AvPacketPtr packet(av_packet_alloc());
  int packets = 0;
  while ((*demuxer)->Next(packet.get()).value()) ++packets;
  EXPECT_EQ(packets, kBFramesClipFrames);
  EXPECT_TRUE(absl::IsUnimplemented((*demuxer)->Seek(0)));
}

TEST(DemuxerTest, AnEmptyStreamIsNoVideo) {
  const std::string nothing;
  const Pipe pipe(nothing);
  EXPECT_TRUE(absl::IsInvalidArgument(Demuxer::Open(pipe, nullptr).status()));
}

TEST(DemuxerTest, ReadsTheSampleFormatOnRequest) {
  const MemorySource source(BFramesClip());
  auto demuxer = Demuxer::Open(source, nullptr, Demuxer::Look::kEverything);
  ASSERT_TRUE(demuxer.ok());
  const StreamInfo& stream = (*demuxer)->stream();
  EXPECT_EQ(stream.codec->format, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(av_q2d(stream.lowest_rate), 25);
  EXPECT_EQ(stream.index, 0);
}

TEST(DemuxerTest, SeeksToTheKeyFrameBefore) {
  const MemorySource source(BFramesClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok());
  AvPacketPtr packet(av_packet_alloc());
  std::vector<int64_t> keys;
  int64_t last = 0;
  while ((*demuxer)->Next(packet.get()).value()) {
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0) keys.push_back(packet->pts);
    last = std::max(last, packet->pts);
  }
  ASSERT_EQ(keys.size(), 3);
  for (const auto& [timestamp, key] : std::vector<std::pair<int64_t, int64_t>>{
           {last, keys[2]}, {keys[1], keys[1]}, {keys[1] - 1, keys[0]}, {keys[0] - 999, keys[0]}}) {
    ASSERT_TRUE((*demuxer)->Seek(timestamp).ok());
    ASSERT_TRUE((*demuxer)->Next(packet.get()).value());
    EXPECT_EQ(packet->pts, key) << timestamp;
  }
}

}  // namespace
}  // namespace nvc
