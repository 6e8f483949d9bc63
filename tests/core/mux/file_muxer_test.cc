#include "tf_nvcodec/core/mux/file_muxer.h"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/mux/video_tags.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

// The SPS and PPS of a stream of 64x64 pixels, and the first bytes of an IDR slice. A muxer reads
// no more of a packet.
const std::string kSets(
    "\0\0\0\1\x67\x42\xc0\x0a\xd9\x04\x22\x61\x00\x00\x03\x00\x01\x00\x00\x03\x00\x32\x0f\x12\x26"
    "\x48\0\0\0\1\x68\xcb\x83\xcb\x20",
    36);
const std::string kKey("\0\0\0\1\x65\x88\x84\x0b\xff\xfe\xf6", 11);

FileMuxerSpec Spec(const std::string& name) {
  FileMuxerSpec spec;
  spec.path = testing::TempDir() + name;
  spec.width = spec.height = 64;
  spec.parameter_sets = kSets;
  return spec;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(FileMuxerTest, WritesAnMp4) {
  const FileMuxerSpec spec = Spec("a.mp4");
  auto muxer = FileMuxer::Create(spec);
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  EXPECT_TRUE((*muxer)->Write(kKey.data(), kKey.size(), 0, 0, 3000, true).ok());
  EXPECT_TRUE((*muxer)->Finish().ok());
  EXPECT_TRUE((*muxer)->Finish().ok());
  const std::string bytes = Contents(spec.path);
  EXPECT_THAT(bytes, HasSubstr("ftyp"));
  EXPECT_THAT(bytes, HasSubstr("avcC"));
  EXPECT_EQ((*muxer)->Write(kKey.data(), kKey.size(), 9, 9, 1, true).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(FileMuxerTest, TakesTheParameterSetsOfTheFirstPacket) {
  FileMuxerSpec spec = Spec("b.mp4");
  spec.parameter_sets.clear();
  auto muxer = FileMuxer::Create(spec);
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  const std::string packet = kSets + kKey;
  EXPECT_TRUE((*muxer)->Write(packet.data(), packet.size(), 0, 0, 3000, true).ok());
  EXPECT_TRUE((*muxer)->Finish().ok());
  EXPECT_THAT(Contents(spec.path), HasSubstr("\x67\x42\xc0\x0a"));
}

TEST(FileMuxerTest, KeepsTimesThatBeginBetweenMillisecondsOrBeforeZero) {
  for (const EncodeContainer container : {EncodeContainer::kMp4, EncodeContainer::kMov}) {
    // 45 ticks are half a millisecond.
    for (const auto& [pts, dts] : {std::pair(45, 45), std::pair(100045, 100045), std::pair(0, -1),
                                   std::pair(45, -6000), std::pair(3045, 45)}) {
      FileMuxerSpec spec = Spec("times");
      spec.container = container;
      auto muxer = FileMuxer::Create(spec);
      ASSERT_TRUE(muxer.ok()) << muxer.status();
      for (int i = 0; i < 3; ++i) {
        const int shift = 3000 * i;
        const std::string packet = kSets + kKey;
        ASSERT_TRUE((*muxer)
                        ->Write(packet.data(), packet.size(), pts + shift, dts + shift, 3000, true)
                        .ok());
      }
      ASSERT_TRUE((*muxer)->Finish().ok());
      const std::string bytes = Contents(spec.path);
      const MemorySource source(bytes);
      const auto demuxer = Demuxer::Open(source, nullptr);
      ASSERT_TRUE(demuxer.ok()) << demuxer.status();
      const AvPacketPtr packet(av_packet_alloc());
      ASSERT_TRUE((*demuxer)->Next(packet.get()).value());
      EXPECT_EQ(av_rescale_q(packet->pts, (*demuxer)->stream().time_base, spec.time_base), pts);
      EXPECT_EQ(av_rescale_q(packet->dts, (*demuxer)->stream().time_base, spec.time_base), dts);
    }
  }
}

SoundTrack Sound(AVCodecID codec) {
  SoundTrack track;
  track.codec.reset(avcodec_parameters_alloc());
  track.codec->codec_type = AVMEDIA_TYPE_AUDIO;
  track.codec->codec_id = codec;
  track.codec->sample_rate = 48000;
  track.time_base = {1, 48000};
  track.index = 7;
  return track;
}

TEST(FileMuxerTest, RefusesSoundThatTheContainerCanNotHold) {
  struct Case {
    const char* name;
    EncodeContainer container;
    AVCodecID codec;
    bool holds;
  };
  for (const Case& with : {Case{"g.mp4", EncodeContainer::kMp4, AV_CODEC_ID_AC3, true},
                           Case{"g.mp4", EncodeContainer::kMp4, AV_CODEC_ID_WMAV2, false},
                           Case{"g.ts", EncodeContainer::kTs, AV_CODEC_ID_AC3, true},
                           Case{"g.ts", EncodeContainer::kTs, AV_CODEC_ID_PCM_S16LE, false}}) {
    FileMuxerSpec spec = Spec(with.name);
    spec.container = with.container;
    auto muxer = FileMuxer::Create(spec);
    ASSERT_TRUE(muxer.ok()) << muxer.status();
    const absl::Status added = (*muxer)->AddSound(Sound(with.codec));
    EXPECT_EQ(added.ok(), with.holds) << added;
    if (!with.holds) {
      EXPECT_THAT(std::string(added.message()), HasSubstr("can't hold audio of codec"));
    }
  }
}

TEST(FileMuxerTest, SoundComesAfterTheFirstPacketOfTheVideo) {
  auto muxer = FileMuxer::Create(Spec("h.mp4"));
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  ASSERT_TRUE((*muxer)->AddSound(Sound(AV_CODEC_ID_AC3)).ok());
  const AvPacketPtr packet(av_packet_alloc());
  ASSERT_EQ(av_new_packet(packet.get(), 16), 0);
  packet->stream_index = 7;
  packet->pts = packet->dts = 0;
  EXPECT_EQ((*muxer)->WriteSound(*packet, 0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*muxer)->Write(kKey.data(), kKey.size(), 0, 0, 3000, true).ok());
  EXPECT_TRUE((*muxer)->WriteSound(*packet, 0).ok());
  packet->stream_index = 8;
  EXPECT_EQ((*muxer)->WriteSound(*packet, 0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(packet->size, 16);
}

TEST(FileMuxerTest, RefusesInvalidSpecsAndPackets) {
  FileMuxerSpec spec = Spec("c.webm");
  spec.container = EncodeContainer::kWebm;
  EXPECT_EQ(FileMuxer::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Spec("no/such/folder.mp4");
  EXPECT_EQ(FileMuxer::Create(spec).status().code(), absl::StatusCode::kNotFound);
  spec = Spec("d.mp4");
  spec.time_base = {0, 1};
  EXPECT_EQ(FileMuxer::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Spec("e.mp4");
  spec.path.clear();
  EXPECT_EQ(FileMuxer::Create(spec).status().code(), absl::StatusCode::kInvalidArgument);

  auto muxer = FileMuxer::Create(Spec("f.mp4"));
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  EXPECT_EQ((*muxer)->Finish().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*muxer)->Write(nullptr, 0, 0, 0, 0, true).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*muxer)->Write(kKey.data(), kKey.size(), 0, 1, 0, true).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*muxer)->Write(kKey.data(), kKey.size(), 5, 5, 1, true).ok());
  EXPECT_EQ((*muxer)->Write(kKey.data(), kKey.size(), 5, 5, 1, true).code(),
            absl::StatusCode::kInvalidArgument);
}

// The first packet writes the file's header. If libavformat then refuses packets, the header must
// not be written again.
TEST(FileMuxerTest, WritesTheHeaderOnce) {
  FileMuxerSpec spec = Spec("again.mkv");
  spec.container = EncodeContainer::kMkv;
  spec.codec = EncodeCodec::kAv1;
  spec.parameter_sets.clear();
  auto muxer = FileMuxer::Create(spec);
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  const char no_frame = 0;  // an OBU of a reserved type without its size
  for (int i = 0; i < 200; ++i) {
    const absl::Status written = (*muxer)->Write(&no_frame, 1, i, i, 1, true);
    EXPECT_THAT(std::string(written.message()), HasSubstr("writing a packet")) << i;
  }
  EXPECT_EQ((*muxer)->Finish().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FileMuxerTest, AFailedHeaderStaysAnError) {
  FileMuxerSpec spec = Spec("wide.mp4");
  spec.width = 70000;
  auto muxer = FileMuxer::Create(spec);
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  const absl::Status first = (*muxer)->Write(kKey.data(), kKey.size(), 0, 0, 1, true);
  EXPECT_THAT(std::string(first.message()), HasSubstr("too large"));
  EXPECT_EQ((*muxer)->Write(kKey.data(), kKey.size(), 1, 1, 1, true), first);
}

TEST(FileMuxerTest, APathIsNeverAUrl) {
  FileMuxerSpec spec = Spec("tcp:x.mp4");
  spec.path = testing::TempDir() + "/pipe:1";
  auto muxer = FileMuxer::Create(spec);
  ASSERT_TRUE(muxer.ok()) << muxer.status();
  EXPECT_TRUE((*muxer)->Write(kKey.data(), kKey.size(), 0, 0, 3000, true).ok());
  EXPECT_TRUE((*muxer)->Finish().ok());
  EXPECT_THAT(Contents(spec.path), HasSubstr("ftyp"));
}

TEST(VideoTagsTest, ACodecWithoutRoomForTagsIsRefused) {
  const AvCodecParametersPtr vp9(avcodec_parameters_alloc());
  vp9->codec_type = AVMEDIA_TYPE_VIDEO;
  vp9->codec_id = AV_CODEC_ID_VP9;
  const auto filter = TaggingFilter({}, *vp9, {1, 25});
  EXPECT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(filter.status().message()), HasSubstr("'vp9'"));
}

}  // namespace
}  // namespace nvc
