#include "tf_nvcodec/core/ffmpeg/bitstream_filter.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/demux/demuxer.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

absl::string_view BytesOf(const AVPacket& packet) {
  return {reinterpret_cast<const char*>(packet.data), static_cast<size_t>(packet.size)};
}

class BitstreamFilterTest : public ::testing::Test {
 protected:
  void Open(const std::string& clip) {
    source_ = std::make_unique<MemorySource>(clip);
    auto demuxer = Demuxer::Open(*source_, nullptr);
    ASSERT_TRUE(demuxer.ok()) << demuxer.status();
    demuxer_ = *std::move(demuxer);
  }

  absl::StatusOr<BitstreamFilter> Create(const char* name,
                                         const BitstreamFilter::Options& options = {}) {
    const StreamInfo& stream = demuxer_->stream();
    return BitstreamFilter::Create(name, *stream.codec, stream.time_base, options);
  }

  AVPacket* Next() {
    EXPECT_TRUE(demuxer_->Next(packet_.get()).value());
    return packet_.get();
  }

  std::unique_ptr<MemorySource> source_;
  std::unique_ptr<Demuxer> demuxer_;
  AvPacketPtr packet_{av_packet_alloc()};
};

TEST_F(BitstreamFilterTest, ConvertsPacketsAndHeaders) {
  Open(BFramesClip());
  auto filter = Create("h264_mp4toannexb");
  ASSERT_TRUE(filter.ok()) << filter.status();
  EXPECT_EQ(filter->codec().width, 160);
  EXPECT_THAT(filter->headers().first(5), ::testing::ElementsAre(0, 0, 0, 1, 0x67));
  AVPacket* const packet = Next();
  const int64_t pts = packet->pts;
  ASSERT_TRUE(filter->Filter(packet).ok());
  EXPECT_EQ(packet->pts, pts);
  EXPECT_EQ(BytesOf(*packet).substr(0, 3), absl::string_view("\0\0\0", 3));
}

TEST_F(BitstreamFilterTest, OnePacketMayBecomeMany) {
  Open(Av1Clip());
  auto filter = Create("av1_frame_split");
  ASSERT_TRUE(filter.ok()) << filter.status();
  AvPacketPtr part(av_packet_alloc());
  std::vector<int> parts;
  for (int i = 0; i < kAv1ClipFrames; ++i) {
    const size_t size = static_cast<size_t>(Next()->size);
    ASSERT_TRUE(filter->Send(packet_.get()).ok());
    EXPECT_EQ(packet_->size, 0);
    size_t sum = 0;
    for (parts.push_back(0); filter->Receive(part.get()).value(); ++parts.back()) {
      sum += static_cast<size_t>(part->size);
    }
    EXPECT_EQ(sum, size);
  }
  EXPECT_THAT(parts, ::testing::Contains(::testing::Gt(1)));  // packets with hidden frames
  EXPECT_THAT(parts, ::testing::Each(::testing::Ge(1)));
}

TEST_F(BitstreamFilterTest, SendDropsUnreadPackets) {
  Open(Av1Clip());
  auto filter = Create("av1_frame_split");
  ASSERT_TRUE(filter.ok());
  AvPacketPtr part(av_packet_alloc());
  for (int i = 0; i < kAv1ClipFrames; ++i) {
    const std::string whole(BytesOf(*Next()));
    ASSERT_TRUE(filter->Send(packet_.get()).ok());
    ASSERT_TRUE(filter->Receive(part.get()).value());
    EXPECT_TRUE(absl::StartsWith(whole, BytesOf(*part))) << i;
  }
}

TEST_F(BitstreamFilterTest, TakesOptions) {
  Open(BFramesClip());
  auto annexb = Create("h264_mp4toannexb");
  ASSERT_TRUE(annexb.ok());
  AvPacketPtr packet(av_packet_alloc());
  ASSERT_TRUE(annexb->Filter(Next()).ok());
  auto filter = BitstreamFilter::Create("h264_metadata", annexb->codec(), AVRational{1, 25},
                                        {{"level", "5.1"}});
  ASSERT_TRUE(filter.ok()) << filter.status();
  ASSERT_TRUE(filter->Filter(packet_.get()).ok());
  const auto sets = ParameterSetsIn(*packet_, AV_CODEC_ID_H264);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ((*sets)[sets->find('\x67') + 3], 51);  // level_idc
}

TEST_F(BitstreamFilterTest, ErrorsNameTheFilter) {
  Open(BFramesClip());
  const absl::Status missing = Create("no_such_filter").status();
  EXPECT_TRUE(absl::IsUnimplemented(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("no_such_filter"));
  for (const absl::Status& refused :
       {Create("hevc_metadata").status(), Create("h264_metadata", {{"nothing", "1"}}).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("refuses the stream"));
  }
}

TEST_F(BitstreamFilterTest, ContinuesAfterABrokenPacket) {
  Open(BFramesClip());
  auto filter = Create("h264_mp4toannexb");
  ASSERT_TRUE(filter.ok());
  ASSERT_EQ(av_packet_make_writable(Next()), 0);
  packet_->data[0] = 0x7f;  // a length beyond the packet
  const absl::Status broken = filter->Filter(packet_.get());
  EXPECT_TRUE(absl::IsDataLoss(broken));
  EXPECT_THAT(std::string(broken.message()), HasSubstr("h264_mp4toannexb"));
  EXPECT_TRUE(filter->Filter(Next()).ok());
}

TEST(ParameterSetsTest, EmptyForAPacketWithoutThem) {
  AvPacketPtr packet(av_packet_alloc());
  const absl::string_view slice("\0\0\0\1\x41\x9a\x02", 7);
  ASSERT_EQ(av_new_packet(packet.get(), static_cast<int>(slice.size())), 0);
  slice.copy(reinterpret_cast<char*>(packet->data), slice.size());
  const auto sets = ParameterSetsIn(*packet, AV_CODEC_ID_H264);
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(*sets, "");
  EXPECT_EQ(BytesOf(*packet), slice);
}

TEST(HvccTest, UnitsBeyondTheRecordAreRefused) {
  AvCodecParametersPtr stream(avcodec_parameters_alloc());
  stream->codec_type = AVMEDIA_TYPE_VIDEO;
  stream->codec_id = AV_CODEC_ID_HEVC;
  const auto create = [&](const std::string& arrays) {
    const std::string record = "\1" + std::string(21, '\1') + arrays;
    EXPECT_TRUE(SetParameterSets(record, stream.get()).ok());
    return BitstreamFilter::Create("hevc_mp4toannexb", *stream, AVRational{1, 25}).status();
  };
  // An array of one VPS of three bytes, whole and cut off, and an array of 65535.
  const std::string whole("\1\x20\0\1\0\3abc", 9);
  EXPECT_TRUE(create(whole).ok());
  for (const std::string& arrays :
       {whole.substr(0, 8), std::string("\1\x20\xff\xff", 4), std::string("\2", 1)}) {
    EXPECT_THAT(std::string(create(arrays).message()), HasSubstr("more than it holds"));
  }
}

}  // namespace
}  // namespace nvc
