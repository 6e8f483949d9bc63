#include "tf_nvcodec/core/ffmpeg/decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/core/index/frame_index.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

class DecoderTest : public ::testing::Test {
 protected:
  DecoderTest() : source_(BFramesClip()), index_(FrameIndex::Build(source_, {}, nullptr).value()) {}

  std::unique_ptr<Decoder> Open(DecoderOptions options = {}) const {
    auto decoder = OpenSoftwareDecoder(*index_.stream().codec, index_.stream().time_base, options);
    EXPECT_TRUE(decoder.ok()) << decoder.status();
    return std::move(decoder).value();
  }

  // Sends the first `count` packets and the end of the stream. Returns the packet of each picture
  // that comes out.
  std::vector<int64_t> Decode(Decoder* decoder, int count) const {
    std::vector<int64_t> packets;
    AvPacketPtr packet(av_packet_alloc());
    AvFramePtr frame(av_frame_alloc());
    for (int i = 0; i <= count; ++i) {
      if (i < count) EXPECT_TRUE(index_.ReadPacket(source_, i, packet.get()).ok());
      EXPECT_TRUE(decoder->Send(i < count ? packet.get() : nullptr).ok());
      while (decoder->Receive(frame.get()).value()) packets.push_back(PacketPos(*frame));
    }
    return packets;
  }

  MemorySource source_;
  FrameIndex index_;
};

TEST_F(DecoderTest, GivesEveryPictureInDisplayOrderAndNamesItsPacket) {
  const auto packets = Decode(Open().get(), 20);
  ASSERT_EQ(packets.size(), 20u);
  for (size_t i = 1; i < packets.size(); ++i) {
    EXPECT_LT(index_.packets()[packets[i - 1]].frame, index_.packets()[packets[i]].frame);
  }
}

TEST_F(DecoderTest, StartsAgainAfterReset) {
  const auto decoder = Open();
  const auto first = Decode(decoder.get(), 10);
  decoder->Reset();
  EXPECT_EQ(Decode(decoder.get(), 10), first);
}

TEST_F(DecoderTest, FrameThreadsGiveTheSamePictures) {
  DecoderOptions options;
  options.num_threads = 3;
  EXPECT_EQ(Decode(Open(options).get(), 20), Decode(Open().get(), 20));
}

TEST_F(DecoderTest, APictureOutlivesItsDecoder) {
  auto decoder = Open();
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  ASSERT_TRUE(index_.ReadPacket(source_, 0, packet.get()).ok());
  ASSERT_TRUE(decoder->Send(packet.get()).ok());
  ASSERT_TRUE(decoder->Send(nullptr).ok());
  ASSERT_TRUE(decoder->Receive(frame.get()).value());
  const auto bytes = [&frame] {
    return std::string(reinterpret_cast<const char*>(frame->data[0]),
                       static_cast<size_t>(frame->linesize[0]) * frame->height);
  };
  const std::string before = bytes();
  decoder.reset();
  Decode(Open().get(), 20);
  EXPECT_EQ(bytes(), before);
}

TEST_F(DecoderTest, RefusesPicturesAboveMaxPixels) {
  DecoderOptions options;
  options.max_pixels = 1000;
  auto decoder = OpenSoftwareDecoder(*index_.stream().codec, index_.stream().time_base, options);
  if (!decoder.ok()) return;  // it may also refuse at once
  AvPacketPtr packet(av_packet_alloc());
  AvFramePtr frame(av_frame_alloc());
  ASSERT_TRUE(index_.ReadPacket(source_, 0, packet.get()).ok());
  const absl::Status sent = (*decoder)->Send(packet.get());
  EXPECT_FALSE(sent.ok() && (*decoder)->Receive(frame.get()).value_or(false));
}

TEST(OpenSoftwareDecoderTest, NamesTheCodecItLacks) {
  AvCodecParametersPtr parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = AV_CODEC_ID_DAALA;
  const auto decoder = OpenSoftwareDecoder(*parameters, {1, 25}, {});
  EXPECT_TRUE(absl::IsUnimplemented(decoder.status()));
  EXPECT_THAT(decoder.status().message(), HasSubstr("daala"));
}

}  // namespace
}  // namespace nvc
