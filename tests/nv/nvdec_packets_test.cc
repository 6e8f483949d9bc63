#include "tf_nvcodec/nv/nvdec_packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace nvc {
namespace {

using Bytes = std::vector<uint8_t>;

AvCodecParametersPtr Parameters(AVCodecID codec, const Bytes& extradata) {
  AvCodecParametersPtr parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = codec;
  if (!extradata.empty()) {
    parameters->extradata_size = static_cast<int>(extradata.size());
    parameters->extradata =
        static_cast<uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::memcpy(parameters->extradata, extradata.data(), extradata.size());
  }
  return parameters;
}

AvPacketPtr Packet(const Bytes& bytes) {
  AvPacketPtr packet(av_packet_alloc());
  av_new_packet(packet.get(), static_cast<int>(bytes.size()));
  std::memcpy(packet->data, bytes.data(), bytes.size());
  packet->pos = 7;
  packet->pts = 70;
  return packet;
}

Bytes BytesOf(const AVPacket& packet) { return Bytes(packet.data, packet.data + packet.size); }

// An avcC record with one SPS and one PPS, and lengths of four bytes.
const Bytes kAvcRecord = {1, 66, 0, 30, 0xff, 0xe1, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0xce};

TEST(NvdecPacketsTest, H264GetsStartCodesAndItsHeaders) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), (Bytes{0, 0, 0, 1, 0x67, 66, 0, 30, 0, 0, 0, 1, 0x68, 0xce}));
  const AvPacketPtr packet = Packet({0, 0, 0, 3, 0x41, 0x9a, 0x55});
  for (int i = 0; i < 2; ++i) {
    const auto converted = packets->Convert(*packet);
    ASSERT_TRUE(converted.ok()) << converted.status();
    const Bytes bytes = BytesOf(**converted);
    ASSERT_GE(bytes.size(), 6u);
    EXPECT_EQ(Bytes(bytes.end() - 6, bytes.end()), (Bytes{0, 0, 1, 0x41, 0x9a, 0x55}));
    EXPECT_EQ((*converted)->pos, 7);
    EXPECT_EQ((*converted)->pts, 70);
    EXPECT_EQ(BytesOf(*packet)[3], 3);  // the caller's packet is as it was
    if (i == 0) packets->Reset();
  }
}

TEST(NvdecPacketsTest, APartOfAPacketIsConvertedByItself) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  const AvPacketPtr packet = Packet({0, 0, 0, 2, 0x06, 0x05, 0, 0, 0, 2, 0x41, 0x9a});
  packet->data += 6;
  packet->size -= 6;
  const auto converted = packets->Convert(*packet);
  ASSERT_TRUE(converted.ok()) << converted.status();
  const Bytes bytes = BytesOf(**converted);
  EXPECT_EQ(Bytes(bytes.end() - 5, bytes.end()), (Bytes{0, 0, 1, 0x41, 0x9a}));
  EXPECT_LE(bytes.size(), 6u);
  packet->data -= 6;
}

TEST(NvdecPacketsTest, BrokenFramingIsDataLossAndPasses) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  const auto broken = packets->Convert(*Packet({0, 0, 9, 9, 0x41, 0x9a}));
  EXPECT_TRUE(absl::IsDataLoss(broken.status())) << broken.status();
  EXPECT_TRUE(packets->Convert(*Packet({0, 0, 0, 2, 0x41, 0x9a})).ok());
}

TEST(NvdecPacketsTest, StartCodesAreLeftAlone) {
  const Bytes headers = {0, 0, 0, 1, 0x67, 66, 0, 30};
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, headers), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), headers);
  const Bytes bytes = {0, 0, 0, 1, 0x41, 0x9a, 0x55};
  EXPECT_EQ(BytesOf(**packets->Convert(*Packet(bytes))), bytes);
}

TEST(NvdecPacketsTest, OtherCodecsAreNotCopied) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_VP9, {1, 2, 3}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_TRUE(packets->headers().empty());
  const AvPacketPtr packet = Packet({1, 2});
  EXPECT_EQ(*packets->Convert(*packet), packet.get());
}

TEST(NvdecPacketsTest, OfAnAv1RecordOnlyTheSequenceHeaderIsParsed) {
  auto packets =
      NvdecPackets::Create(*Parameters(AV_CODEC_ID_AV1, {0x81, 4, 12, 0, 10, 11}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), (Bytes{10, 11}));
}

TEST(NvdecPacketsTest, BadHeadersAreRefused) {
  const auto packets = NvdecPackets::Create(
      *Parameters(AV_CODEC_ID_H264, {1, 66, 0, 30, 0xff, 0xe1, 0xff}), {1, 25});
  EXPECT_TRUE(absl::IsInvalidArgument(packets.status())) << packets.status();
}

}  // namespace
}  // namespace nvc
