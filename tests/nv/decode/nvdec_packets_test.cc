#include "tf_nvcodec/nv/decode/nvdec_packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tf_nvcodec/core/bitstream/parameter_sets.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Bytes = std::vector<uint8_t>;

AvCodecParametersPtr Parameters(AVCodecID codec, const Bytes& extradata) {
  AvCodecParametersPtr parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = codec;
  const std::string sets(extradata.begin(), extradata.end());
  EXPECT_TRUE(SetParameterSets(sets, parameters.get()).ok());
  return parameters;
}

AvPacketPtr Packet(const Bytes& bytes) {
  AvPacketPtr packet(av_packet_alloc());
  av_new_packet(packet.get(), static_cast<int>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), packet->data);
  packet->pos = 7;
  packet->pts = 70;
  return packet;
}

Bytes BytesOf(const NvdecPackets::Piece& piece) {
  return Bytes(piece.data, piece.data + piece.size);
}

// Returns the pieces of a packet that the parser gets.
std::vector<Bytes> Pieces(NvdecPackets* packets, const AVPacket& packet,
                          bool may_have_fields = true) {
  const absl::Status sent = packets->Send(packet, may_have_fields);
  EXPECT_TRUE(sent.ok()) << sent;
  std::vector<Bytes> pieces;
  while (true) {
    const auto piece = packets->Next();
    EXPECT_TRUE(piece.ok()) << piece.status();
    if (!piece.ok() || piece->data == nullptr) return pieces;
    pieces.push_back(BytesOf(*piece));
  }
}

// An avcC record with one SPS, one PPS and length prefixes of four bytes.
const Bytes kAvcRecord = {1, 66, 0, 30, 0xff, 0xe1, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0xce};

TEST(NvdecPacketsTest, H264GetsStartCodesAndItsHeaders) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), (Bytes{0, 0, 0, 1, 0x67, 66, 0, 30, 0, 0, 0, 1, 0x68, 0xce}));
  const AvPacketPtr packet = Packet({0, 0, 0, 3, 0x41, 0x9a, 0x55});
  for (int i = 0; i < 2; ++i) {
    const std::vector<Bytes> pieces = Pieces(&*packets, *packet);
    ASSERT_EQ(pieces.size(), 1u);
    const Bytes& bytes = pieces[0];
    ASSERT_GE(bytes.size(), 6u);
    EXPECT_EQ(Bytes(bytes.end() - 6, bytes.end()), (Bytes{0, 0, 1, 0x41, 0x9a, 0x55}));
    EXPECT_EQ(packet->data[3], 3);  // the caller's packet has not changed
    if (i == 0) packets->Reset();
  }
}

TEST(NvdecPacketsTest, APartOfAPacketIsConvertedByItself) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  const AvPacketPtr packet = Packet({0, 0, 0, 2, 0x06, 0x05, 0, 0, 0, 2, 0x41, 0x9a});
  packet->data += 6;
  packet->size -= 6;
  const std::vector<Bytes> pieces = Pieces(&*packets, *packet);
  ASSERT_EQ(pieces.size(), 1u);
  const Bytes& bytes = pieces[0];
  EXPECT_EQ(Bytes(bytes.end() - 5, bytes.end()), (Bytes{0, 0, 1, 0x41, 0x9a}));
  EXPECT_LE(bytes.size(), 6u);
  packet->data -= 6;
}

TEST(NvdecPacketsTest, BrokenFramingIsDataLossAndPasses) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  const absl::Status broken = packets->Send(*Packet({0, 0, 9, 9, 0x41, 0x9a}), true);
  EXPECT_TRUE(absl::IsDataLoss(broken)) << broken;
  EXPECT_EQ(Pieces(&*packets, *Packet({0, 0, 0, 2, 0x41, 0x9a})).size(), 1u);
}

TEST(NvdecPacketsTest, ADescriptionInTheMiddleOfTheStreamGoesWithItsPackets) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, kAvcRecord), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  const Bytes idr = {0, 0, 0, 3, 0x65, 0x9a, 0x55};
  EXPECT_EQ(Pieces(&*packets, *Packet(idr)).size(), 1u);
  Bytes record = kAvcRecord;
  record[10] = 0xe0;  // another SPS, and length prefixes of two bytes
  record[4] = 0xfd;
  const AvPacketPtr changed = Packet({0, 3, 0x65, 0x9a, 0x55});
  std::memcpy(av_packet_new_side_data(changed.get(), AV_PKT_DATA_NEW_EXTRADATA, record.size()),
              record.data(), record.size());
  const Bytes headers = {0, 0, 0, 1, 0x67, 66, 0xe0, 30, 0, 0, 0, 1, 0x68, 0xce};
  Bytes with_headers = headers;
  with_headers.insert(with_headers.end(), {0, 0, 1, 0x65, 0x9a, 0x55});
  EXPECT_THAT(Pieces(&*packets, *changed), ElementsAre(headers, with_headers));
  EXPECT_EQ(packets->headers(), headers);
  // The same description again changes nothing.
  EXPECT_EQ(Pieces(&*packets, *changed).size(), 1u);
  EXPECT_THAT(Pieces(&*packets, *Packet({0, 3, 0x65, 0x9a, 0x55})), ElementsAre(with_headers));
}

TEST(NvdecPacketsTest, StartCodesAreLeftAlone) {
  const Bytes headers = {0, 0, 0, 1, 0x67, 66, 0, 30};
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, headers), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), headers);
  const Bytes bytes = {0, 0, 0, 1, 0x41, 0x9a, 0x55};
  EXPECT_THAT(Pieces(&*packets, *Packet(bytes)), ElementsAre(bytes));
}

TEST(NvdecPacketsTest, OtherCodecsAreNotCopied) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_VP8, {1, 2, 3}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_TRUE(packets->headers().empty());
  const AvPacketPtr packet = Packet({1, 2});
  ASSERT_TRUE(packets->Send(*packet, true).ok());
  const auto piece = packets->Next();
  EXPECT_EQ(piece->data, packet->data);
  EXPECT_TRUE(piece->whole);
}

TEST(NvdecPacketsTest, Vp9SuperframesAreTakenApart) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_VP9, {}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  // Two frames of 3 and 2 bytes, and the superframe's index with these sizes.
  const Bytes superframe = {0x84, 1, 2, 0x86, 3, 0xc1, 3, 2, 0xc1};
  const std::vector<Bytes> both = {{0x84, 1, 2}, {0x86, 3}};
  EXPECT_EQ(Pieces(&*packets, *Packet(superframe)), both);
  // The same when the caller did not take the second frame of the packet before.
  ASSERT_TRUE(packets->Send(*Packet(superframe), true).ok());
  ASSERT_TRUE(packets->Next().ok());
  EXPECT_EQ(Pieces(&*packets, *Packet(superframe)), both);
}

TEST(NvdecPacketsTest, FieldsAreTakenApart) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, {}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  // An SEI, a field of two slices, an SEI, and the other field.
  const Bytes first = {0, 0, 1, 6, 5, 0, 0, 1, 0x41, 0x9a, 0, 0, 1, 0x41, 0x4a};
  const Bytes second = {0, 0, 1, 6, 5, 0, 0, 1, 0x41, 0x9a, 7};
  Bytes packet = first;
  packet.insert(packet.end(), second.begin(), second.end());
  EXPECT_THAT(Pieces(&*packets, *Packet(packet)), ElementsAre(first, second));
  EXPECT_THAT(Pieces(&*packets, *Packet(packet), /*may_have_fields=*/false), ElementsAre(packet));
}

TEST(NvdecPacketsTest, AParameterSetWithFieldsTellsOfThemToo) {
  auto packets = NvdecPackets::Create(*Parameters(AV_CODEC_ID_H264, {}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  // 16x32, with frame_mbs_only_flag 0.
  const Bytes sps = {0, 0, 1, 0x67, 77, 0, 30, 0xf4, 0xc9};
  const Bytes first = {0, 0, 1, 0x65, 0x88, 0x80}, second = {0, 0, 1, 0x41, 0x9a, 0x40};
  Bytes fields = first;
  fields.insert(fields.end(), second.begin(), second.end());
  Bytes begin = sps, whole = sps;
  begin.insert(begin.end(), first.begin(), first.end());
  whole.insert(whole.end(), fields.begin(), fields.end());
  EXPECT_THAT(Pieces(&*packets, *Packet(whole), /*may_have_fields=*/false),
              ElementsAre(begin, second));
  EXPECT_THAT(Pieces(&*packets, *Packet(fields), /*may_have_fields=*/false), ElementsAre(fields));
}

TEST(PictureStartsTest, OfH264) {
  const auto starts = [](const Bytes& bytes) { return PictureStarts(bytes.data(), bytes.size()); };
  EXPECT_THAT(starts({}), IsEmpty());
  EXPECT_THAT(starts({0, 0, 1}), IsEmpty());
  EXPECT_THAT(starts({0, 0, 1, 0x65, 0x88, 0, 0, 1, 0x65, 0x40}), IsEmpty());
  EXPECT_THAT(starts({0, 0, 1, 0x65, 0x88, 0, 0, 1, 0x41, 0x88}), ElementsAre(5));
  // Parameter sets between the fields belong to the second one.
  EXPECT_THAT(starts({0, 0, 1, 0x65, 0x88, 0, 0, 1, 0x68, 2, 0, 0, 1, 6, 3, 0, 0, 1, 0x41, 0x88}),
              ElementsAre(5));
}

TEST(NvdecPacketsTest, OfAnAv1RecordOnlyTheSequenceHeaderIsParsed) {
  auto packets =
      NvdecPackets::Create(*Parameters(AV_CODEC_ID_AV1, {0x81, 4, 12, 0, 10, 11}), {1, 25});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ(packets->headers(), (Bytes{10, 11}));
}

TEST(NvdecPacketsTest, BadHeadersAreLeftToFfmpeg) {
  const auto packets = NvdecPackets::Create(
      *Parameters(AV_CODEC_ID_H264, {1, 66, 0, 30, 0xff, 0xe1, 0xff}), {1, 25});
  EXPECT_TRUE(absl::IsUnimplemented(packets.status())) << packets.status();
}

}  // namespace
}  // namespace nvc
