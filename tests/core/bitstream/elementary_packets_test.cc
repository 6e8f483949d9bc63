#include "tf_nvcodec/core/bitstream/elementary_packets.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/demux/demuxer.h"

namespace nvc {
namespace {

absl::string_view BytesOf(const AVPacket& packet) {
  return {reinterpret_cast<const char*>(packet.data), static_cast<size_t>(packet.size)};
}

// Returns the converted packets of a clip.
std::vector<std::string> Convert(const std::string& clip) {
  const MemorySource source(clip);
  auto demuxer = Demuxer::Open(source, nullptr);
  EXPECT_TRUE(demuxer.ok()) << demuxer.status();
  const StreamInfo& stream = (*demuxer)->stream();
  auto packets = ElementaryPackets::Create(*stream.codec, stream.time_base);
  EXPECT_TRUE(packets.ok()) << packets.status();
  std::vector<std::string> converted;
  AvPacketPtr packet(av_packet_alloc());
  while ((*demuxer)->Next(packet.get()).value()) {
    const int64_t pts = packet->pts;
    EXPECT_TRUE((*packets)->Convert(packet.get()).ok());
    EXPECT_EQ(packet->pts, pts);
    converted.emplace_back(BytesOf(*packet));
  }
  return converted;
}

TEST(ElementaryPacketsTest, H264GetsStartCodesAndParameterSets) {
  const auto packets = Convert(BFramesClip());
  ASSERT_EQ(packets.size(), kBFramesClipFrames);
  for (const std::string& packet : packets) {
    EXPECT_EQ(packet.substr(0, 4), std::string("\0\0\0\1", 4));
  }
  EXPECT_NE(packets[0].find(std::string("\0\0\0\1\x67", 5)), std::string::npos);
  EXPECT_NE(packets[0].find(std::string("\0\0\0\1\x68", 5)), std::string::npos);
}

TEST(ElementaryPacketsTest, TheCodecIsThatOfTheConvertedPackets) {
  const MemorySource source(BFramesClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok());
  const StreamInfo& stream = (*demuxer)->stream();
  ASSERT_EQ(stream.codec->extradata[0], 1);  // avcC
  auto packets = ElementaryPackets::Create(*stream.codec, stream.time_base);
  ASSERT_TRUE(packets.ok());
  EXPECT_EQ((*packets)->codec().extradata[0], 0);
  EXPECT_EQ((*packets)->codec().width, 160);
}

// Converts one H.264 packet at `pos`, with length prefixes of four bytes. `record` is the new avcC
// record that comes with it, or "" for none.
std::string ConvertAt(ElementaryPackets* packets, int64_t pos, const std::string& record,
                      uint8_t nal = 0x65) {
  const std::string unit = {0, 0, 0, 3, static_cast<char>(nal), '\x9a', '\x55'};
  AvPacketPtr packet(av_packet_alloc());
  EXPECT_EQ(av_new_packet(packet.get(), static_cast<int>(unit.size())), 0);
  unit.copy(reinterpret_cast<char*>(packet->data), unit.size());
  packet->pos = pos;
  if (!record.empty()) {
    record.copy(reinterpret_cast<char*>(av_packet_new_side_data(
                    packet.get(), AV_PKT_DATA_NEW_EXTRADATA, record.size())),
                record.size());
  }
  const absl::Status converted = packets->Convert(packet.get());
  return converted.ok() ? std::string(BytesOf(*packet)) : std::string(converted.message());
}

// Returns an avcC record whose SPS has this level.
std::string Record(char level) {
  return std::string("\1\x42\0\x1e\xff\xe1\0\4\x67\x42\0", 11) + level +
         std::string("\1\0\2\x68\xce", 5);
}

bool HasLevel(const std::string& packet, char level) {
  return packet.find(std::string("\0\0\0\1\x67\x42\0", 7) + level) != std::string::npos;
}

std::unique_ptr<ElementaryPackets> PacketsOf(const std::string& record) {
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = AV_CODEC_ID_H264;
  EXPECT_TRUE(SetParameterSets(record, codec.get()).ok());
  auto packets = ElementaryPackets::Create(*codec, AVRational{1, 25});
  EXPECT_TRUE(packets.ok()) << packets.status();
  return std::move(packets).value();
}

TEST(ElementaryPacketsTest, ADescriptionInTheMiddleOfTheStreamIsFollowed) {
  const std::string record("\1\x42\0\x1e\xff\xe1\0\4\x67\x42\0\x1e\1\0\2\x68\xce", 17);
  const auto packets = PacketsOf(record);
  std::string other = record;
  other[10] = '\x07';
  other[4] = '\xfd';  // length prefixes of two bytes
  const std::string idr("\0\3\x65\x9a\x55", 5);
  const std::string sps("\0\0\0\1\x67\x42\x07\x1e", 8), pps("\0\0\0\1\x68\xce", 6);
  for (const bool described : {true, false}) {
    AvPacketPtr packet(av_packet_alloc());
    ASSERT_EQ(av_new_packet(packet.get(), static_cast<int>(idr.size())), 0);
    idr.copy(reinterpret_cast<char*>(packet->data), idr.size());
    if (described) {
      other.copy(reinterpret_cast<char*>(av_packet_new_side_data(
                     packet.get(), AV_PKT_DATA_NEW_EXTRADATA, other.size())),
                 other.size());
    }
    ASSERT_TRUE(packets->Convert(packet.get()).ok());
    EXPECT_EQ(BytesOf(*packet), sps + pps + std::string("\0\0\1\x65\x9a\x55", 6));
    EXPECT_EQ(packet->side_data_elems, 0) << "its NAL units have no lengths any more";
  }
}

TEST(ElementaryPacketsTest, AfterASeekItIsTheDescriptionOfThePlace) {
  const auto packets = PacketsOf(Record('a'));
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 100, ""), 'a'));
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 200, Record('b')), 'b'));
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 300, Record('a')), 'a'));
  for (const auto& [pos, level] : {std::pair(250, 'b'), {50, 'a'}, {200, 'b'}, {300, 'a'}}) {
    packets->Reset(/*container_tells=*/false);
    EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), pos, ""), level)) << pos;
  }
  // The MP4 demuxer attaches a changed description wherever it reads on.
  packets->Reset(/*container_tells=*/true);
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 50, Record('b')), 'b'));
  packets->Reset(/*container_tells=*/true);
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 40, ""), 'b'));
  for (const char level : {'a', 'b', 'a'}) {
    packets->Reset(/*container_tells=*/true);
    EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 60, Record(level)), level));
  }
}

TEST(ElementaryPacketsTest, ADescriptionComesWithItsFirstPacketWhateverThatIs) {
  const auto packets = PacketsOf(Record('a'));
  ConvertAt(packets.get(), 100, "");
  constexpr uint8_t kNoIdr = 0x41;
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 200, Record('b'), kNoIdr), 'b'));
  EXPECT_FALSE(HasLevel(ConvertAt(packets.get(), 210, "", kNoIdr), 'b'));
}

TEST(ElementaryPacketsTest, ADescriptionThatCantBeReadChangesNothing) {
  const auto packets = PacketsOf(Record('a'));
  ConvertAt(packets.get(), 100, "");
  EXPECT_THAT(ConvertAt(packets.get(), 200, std::string("\1\x42\0\x1e\xff\xe1\x7f\xff", 8)),
              ::testing::HasSubstr("refuses the stream"));
  EXPECT_TRUE(HasLevel(ConvertAt(packets.get(), 210, ""), 'a'));
}

// Returns a temporal delimiter and a frame's OBU, with or without a sequence header between them.
std::string Av1Packet(bool with_sequence) {
  std::string packet("\x12\0", 2);
  if (with_sequence) packet += std::string("\x0a\x01\x55", 3);
  return packet + std::string("\x32\x02\xaa\xbb", 4);
}

std::string ConvertAv1(const std::string& bytes, int flags) {
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = AV_CODEC_ID_AV1;
  const std::string record("\x81\0\x0c\0\x0a\x01\x77", 7);
  EXPECT_TRUE(SetParameterSets(record, codec.get()).ok());
  auto packets = ElementaryPackets::Create(*codec, AVRational{1, 25});
  EXPECT_TRUE(packets.ok());
  AvPacketPtr packet(av_packet_alloc());
  av_new_packet(packet.get(), static_cast<int>(bytes.size()));
  bytes.copy(reinterpret_cast<char*>(packet->data), bytes.size());
  packet->flags = flags;
  packet->pts = 7;
  EXPECT_TRUE((*packets)->Convert(packet.get()).ok());
  EXPECT_EQ(packet->pts, 7);
  EXPECT_EQ(packet->flags, flags);
  return std::string(BytesOf(*packet));
}

TEST(ElementaryPacketsTest, Av1KeyFramesGetTheHeaderThatTheyLack) {
  EXPECT_EQ(ConvertAv1(Av1Packet(false), AV_PKT_FLAG_KEY),
            std::string("\x0a\x01\x77", 3) + Av1Packet(false));
  EXPECT_EQ(ConvertAv1(Av1Packet(true), AV_PKT_FLAG_KEY), Av1Packet(true));
  EXPECT_EQ(ConvertAv1(Av1Packet(false), 0), Av1Packet(false));
}

TEST(ElementaryPacketsTest, BrokenObusAreLeftToTheDecoder) {
  const std::string sequence("\x0a\x01\x77", 3);
  for (const std::string& broken : {std::string("\x12"), std::string("\x12\xff"),
                                    std::string("\x12\xff\xff\xff\xff\xff\xff\xff"),
                                    std::string("\x10\0", 2), std::string("\x12\x7f\x0a", 3)}) {
    EXPECT_EQ(ConvertAv1(broken, AV_PKT_FLAG_KEY), sequence + broken);
  }
}

TEST(ElementaryPacketsTest, BrokenFramingIsAnErrorOfThatPacket) {
  const MemorySource source(BFramesClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok());
  const StreamInfo& stream = (*demuxer)->stream();
  auto packets = ElementaryPackets::Create(*stream.codec, stream.time_base);
  ASSERT_TRUE(packets.ok());
  AvPacketPtr packet(av_packet_alloc());
  ASSERT_TRUE((*demuxer)->Next(packet.get()).value());
  ASSERT_EQ(av_packet_make_writable(packet.get()), 0);
  packet->data[0] = 0x7f;  // a length beyond the packet
  EXPECT_TRUE(absl::IsDataLoss((*packets)->Convert(packet.get())));
  ASSERT_TRUE((*demuxer)->Next(packet.get()).value());
  EXPECT_TRUE((*packets)->Convert(packet.get()).ok());
}

}  // namespace
}  // namespace nvc
