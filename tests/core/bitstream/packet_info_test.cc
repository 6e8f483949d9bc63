#include "tf_nvcodec/core/bitstream/packet_info.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/testing/test_media.h"
#include "tf_nvcodec/core/base/byte_source.h"
#include "tf_nvcodec/core/demux/demuxer.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {
namespace {

std::unique_ptr<PacketInspector> InspectorOf(AVCodecID codec) {
  AvCodecParametersPtr parameters(avcodec_parameters_alloc());
  parameters->codec_id = codec;
  return PacketInspector::Create(*parameters);
}

PacketInfo Inspect(PacketInspector* inspector, std::vector<uint8_t> bytes, int flags = 0) {
  AVPacket* packet = av_packet_alloc();
  packet->data = bytes.data();
  packet->size = static_cast<int>(bytes.size());
  packet->flags = flags;
  const PacketInfo info = inspector->Inspect(*packet);
  av_packet_free(&packet);
  return info;
}

PacketInfo Inspect(AVCodecID codec, std::vector<uint8_t> bytes, int flags = 0) {
  return Inspect(InspectorOf(codec).get(), std::move(bytes), flags);
}

TEST(PacketInspectorTest, Vp8FrameTag) {
  const PacketInfo key = Inspect(AV_CODEC_ID_VP8, {0x10, 0, 0});
  EXPECT_TRUE(key.random_access);
  EXPECT_EQ(key.shown, 1);
  const PacketInfo hidden = Inspect(AV_CODEC_ID_VP8, {0x01, 0, 0});
  EXPECT_FALSE(hidden.random_access);
  EXPECT_EQ(hidden.shown, 0);
}

TEST(PacketInspectorTest, Vp9HeadersAndSuperframes) {
  constexpr uint8_t kKeyShown = 0b10000010, kInterShown = 0b10000110, kInterHidden = 0b10000100;
  constexpr uint8_t kShowExisting = 0b10001000;
  EXPECT_TRUE(Inspect(AV_CODEC_ID_VP9, {kKeyShown, 0}).random_access);
  EXPECT_EQ(Inspect(AV_CODEC_ID_VP9, {kInterShown, 0}).shown, 1);
  EXPECT_EQ(Inspect(AV_CODEC_ID_VP9, {kInterHidden, 0}).shown, 0);
  EXPECT_EQ(Inspect(AV_CODEC_ID_VP9, {kShowExisting, 0}).shown, 1);
  // A hidden and a shown frame of two bytes each. The index has one byte for each size.
  const PacketInfo both =
      Inspect(AV_CODEC_ID_VP9, {kInterHidden, 0, kInterShown, 0, 0b11000001, 2, 2, 0b11000001});
  EXPECT_EQ(both.shown, 1);
  EXPECT_FALSE(both.random_access);
  const PacketInfo two_shown =
      Inspect(AV_CODEC_ID_VP9, {kInterShown, 0, kInterShown, 0, 0b11000001, 2, 2, 0b11000001});
  EXPECT_EQ(two_shown.shown, -1);
}

TEST(PacketInspectorTest, HevcNalTypes) {
  const auto nal = [](int type, int temporal_id) {
    return std::vector<uint8_t>{
        0, 0, 1, static_cast<uint8_t>(type << 1), static_cast<uint8_t>(temporal_id + 1), 0x80};
  };
  EXPECT_TRUE(Inspect(AV_CODEC_ID_HEVC, nal(19, 0)).random_access);   // IDR_W_RADL
  EXPECT_TRUE(Inspect(AV_CODEC_ID_HEVC, nal(21, 0)).random_access);   // CRA
  EXPECT_TRUE(Inspect(AV_CODEC_ID_HEVC, nal(8, 0)).skipped_leading);  // RASL_N
  EXPECT_TRUE(Inspect(AV_CODEC_ID_HEVC, nal(0, 0)).droppable);        // TRAIL_N
  EXPECT_FALSE(Inspect(AV_CODEC_ID_HEVC, nal(1, 0)).droppable);       // TRAIL_R
  EXPECT_EQ(Inspect(AV_CODEC_ID_HEVC, nal(2, 3)).temporal_id, 3);     // TSA_N
  EXPECT_EQ(Inspect(AV_CODEC_ID_HEVC, nal(16, 0)).shown, -1);         // BLA
  EXPECT_EQ(Inspect(AV_CODEC_ID_HEVC, {1, 2, 3}).shown, -1);
}

TEST(PacketInspectorTest, HevcPicturesAfterAnEndOfSequenceAreLeftToTheDecoder) {
  const auto inspector = InspectorOf(AV_CODEC_ID_HEVC);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 19 << 1, 1, 0x80}).shown, 1);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 36 << 1, 1, 0x80, 0, 0, 1, 21 << 1, 1, 0x80}).shown,
            -1);
}

TEST(PacketInspectorTest, HevcSequencesEndBehindAPictureToo) {
  const auto inspector = InspectorOf(AV_CODEC_ID_HEVC);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 19 << 1, 1, 0x80}).shown, 1);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 1 << 1, 1, 0x80, 0, 0, 1, 36 << 1, 1}).shown, 1);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 21 << 1, 1, 0x80}).shown, -1);
  EXPECT_EQ(Inspect(inspector.get(), {0, 0, 1, 21 << 1, 1, 0x80}).shown, 1);
}

TEST(PacketInspectorTest, HevcPicturesThatDropWaitingOnesAreLeftToTheDecoder) {
  const auto inspector = InspectorOf(AV_CODEC_ID_HEVC);
  const std::vector<uint8_t> drops = {0, 0, 1, 19 << 1, 1, 0xC0};
  EXPECT_EQ(Inspect(inspector.get(), drops).shown, 1) << "nothing waits before the first";
  EXPECT_EQ(Inspect(inspector.get(), drops).shown, -1);
}

TEST(PacketInspectorTest, Mpeg2PictureTypes) {
  const auto picture = [](int type) {
    return std::vector<uint8_t>{0, 0, 1, 0, 0, static_cast<uint8_t>(type << 3), 0, 0};
  };
  EXPECT_TRUE(Inspect(AV_CODEC_ID_MPEG2VIDEO, picture(1), AV_PKT_FLAG_KEY).random_access);
  EXPECT_FALSE(Inspect(AV_CODEC_ID_MPEG2VIDEO, picture(1)).random_access);
  EXPECT_FALSE(Inspect(AV_CODEC_ID_MPEG2VIDEO, picture(2)).droppable);
  EXPECT_TRUE(Inspect(AV_CODEC_ID_MPEG2VIDEO, picture(3)).droppable);
  EXPECT_EQ(Inspect(AV_CODEC_ID_MPEG2VIDEO, {1, 2, 3, 4}).shown, -1);
  std::vector<uint8_t> fields = picture(1);
  const std::vector<uint8_t> second = picture(2);
  fields.insert(fields.end(), second.begin(), second.end());
  EXPECT_TRUE(Inspect(AV_CODEC_ID_MPEG2VIDEO, fields, AV_PKT_FLAG_KEY).random_access);
}

// Returns the order of the packets by PacketInfo::order.
std::vector<size_t> ShownOrder(AVCodecID codec, const std::vector<std::vector<uint8_t>>& packets) {
  const auto inspector = InspectorOf(codec);
  std::vector<std::pair<int64_t, size_t>> orders;
  for (size_t i = 0; i < packets.size(); ++i) {
    orders.emplace_back(Inspect(inspector.get(), packets[i]).order, i);
  }
  std::sort(orders.begin(), orders.end());
  std::vector<size_t> shown;
  for (const auto& [order, i] : orders) shown.push_back(i);
  return shown;
}

TEST(PacketInspectorTest, Mpeg2TemporalReferencesGoRoundAndBeginAnewWithAGroup) {
  const auto picture = [](int reference) {
    return std::vector<uint8_t>{
        0, 0, 1, 0, static_cast<uint8_t>(reference >> 2), static_cast<uint8_t>(reference << 6),
        0, 0};
  };
  std::vector<uint8_t> group = {0, 0, 1, 0xB8, 0, 0, 0, 0};
  const std::vector<uint8_t> first = picture(2);
  group.insert(group.end(), first.begin(), first.end());
  EXPECT_EQ(ShownOrder(AV_CODEC_ID_MPEG2VIDEO,
                       {picture(1022), picture(1), picture(1023), picture(0), group, picture(0)}),
            (std::vector<size_t>{0, 2, 3, 1, 5, 4}));
}

TEST(PacketInspectorTest, Mpeg4BVopsComeBeforeTheVopBeforeThem) {
  const auto vop = [](int type) {
    return std::vector<uint8_t>{0, 0, 1, 0xB6, static_cast<uint8_t>(type << 6), 0, 0, 0, 0, 0};
  };
  EXPECT_EQ(ShownOrder(AV_CODEC_ID_MPEG4, {vop(0), vop(1), vop(2), vop(2), vop(1), vop(2)}),
            (std::vector<size_t>{0, 2, 3, 1, 5, 4}));
}

TEST(PacketInspectorTest, PacketsWithoutAPictureOfTheCodecAreUnreadable) {
  const std::vector<uint8_t> zeros(40);
  for (const AVCodecID codec : {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG2VIDEO,
                                AV_CODEC_ID_MPEG4, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9}) {
    EXPECT_TRUE(Inspect(codec, zeros).unreadable) << codec;
  }
  // Parameter sets and sequence headers may come alone.
  EXPECT_FALSE(Inspect(AV_CODEC_ID_H264, {0, 0, 1, 0x67, 0x42}).unreadable);
  EXPECT_FALSE(Inspect(AV_CODEC_ID_HEVC, {0, 0, 1, 0x40, 1, 1}).unreadable);
  EXPECT_FALSE(Inspect(AV_CODEC_ID_MPEG2VIDEO, {0, 0, 1, 0xB3, 0, 0}).unreadable);
}

TEST(PacketInspectorTest, Mpeg4Vops) {
  const auto vop = [](int type) {
    return std::vector<uint8_t>{0, 0, 1, 0xB6, static_cast<uint8_t>(type << 6), 0, 0, 0, 0, 0};
  };
  EXPECT_TRUE(Inspect(AV_CODEC_ID_MPEG4, vop(0)).random_access);
  EXPECT_FALSE(Inspect(AV_CODEC_ID_MPEG4, vop(1)).random_access);
  std::vector<uint8_t> packed = vop(1);
  const std::vector<uint8_t> b = vop(2);
  packed.insert(packed.end(), b.begin(), b.end());
  EXPECT_EQ(Inspect(AV_CODEC_ID_MPEG4, packed).shown, -1);
}

// Returns an OBU of `type` with a size field. Its payload is `bits`, padded with zeros. Spaces are
// for the reader.
std::vector<uint8_t> Obu(int type, std::string bits) {
  bits.erase(std::remove(bits.begin(), bits.end(), ' '), bits.end());
  std::vector<uint8_t> payload((bits.size() + 7) / 8);
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] == '1') payload[i / 8] |= static_cast<uint8_t>(0x80 >> (i % 8));
  }
  std::vector<uint8_t> obu = {static_cast<uint8_t>(type << 3 | 2),
                              static_cast<uint8_t>(payload.size())};
  obu.insert(obu.end(), payload.begin(), payload.end());
  return obu;
}

// Returns a sequence header with sizes of one bit, no frame ids and no tools. `from_order_hints`
// are the bits from enable_order_hint on, which the test chooses.
std::vector<uint8_t> Av1Sequence(const std::string& from_order_hints) {
  return Obu(1, "000 0 0 0 0 00000 000000000000 00000 0000 0000 00 0 000 0000" + from_order_hints);
}

TEST(PacketInspectorTest, Av1FramesInNoSlotAreDroppable) {
  // No order hints and no screen content tools.
  const auto sequence = Av1Sequence("0 0 0");
  // The frame is shown and error resilient, without CDF update and size override. Then come
  // refresh_frame_flags and ref_frame_idx.
  const auto frame = [](const std::string& type, const std::string& refresh) {
    return Obu(6, "0" + type + "1" + (type == "00" ? "" : "1") + "0" + "0" +
                      (type == "00" ? "" : refresh + std::string(21, '0')));
  };
  const std::string inter = "01", key = "00";
  const auto inspector = InspectorOf(AV_CODEC_ID_AV1);
  EXPECT_FALSE(Inspect(inspector.get(), frame(inter, "00000000")).droppable) << "no sequence yet";
  EXPECT_FALSE(Inspect(inspector.get(), sequence).droppable);
  EXPECT_TRUE(Inspect(inspector.get(), frame(inter, "00000000")).droppable);
  EXPECT_FALSE(Inspect(inspector.get(), frame(inter, "00010000")).droppable);
  const auto show_slot_3 = Obu(3, "1 011");
  EXPECT_TRUE(Inspect(inspector.get(), show_slot_3).droppable);
  EXPECT_FALSE(Inspect(inspector.get(), frame(key, "")).droppable);
  EXPECT_FALSE(Inspect(inspector.get(), show_slot_3).droppable) << "it holds a key frame now";
  EXPECT_FALSE(Inspect(inspector.get(), {0x32}).droppable) << "cut off";
  // dav1d needs a sequence header in the packet, also if the container has it.
  EXPECT_FALSE(Inspect(inspector.get(), frame(key, ""), AV_PKT_FLAG_KEY).random_access);
  std::vector<uint8_t> start = sequence;
  const std::vector<uint8_t> picture = frame(key, "");
  start.insert(start.end(), picture.begin(), picture.end());
  EXPECT_TRUE(Inspect(inspector.get(), start, AV_PKT_FLAG_KEY).random_access);
}

TEST(PacketInspectorTest, Av1PicturesNameWhatTheyReferTo) {
  // Order hints of three bits.
  const auto sequence = Av1Sequence("1 00 0 0 010 00");
  const auto key = Obu(6, "000100000");
  // The frame is not error resilient. `references` has the numbers of seven slots.
  const auto inter = [](bool shown, const std::string& hint, const std::string& refresh,
                        const std::string& references) {
    return std::string("001") + (shown ? "1" : "01") + "000" + hint + "000" + refresh + "0" +
           references;
  };
  const std::string slot_0 = "000", slot_4 = "100", slot_7 = "111";
  const auto seven = [](const std::string& slot) {
    std::string all;
    for (int i = 0; i < 7; ++i) all += slot;
    return all;
  };
  const auto join = [](const std::vector<std::vector<uint8_t>>& obus) {
    std::vector<uint8_t> bytes;
    for (const auto& obu : obus) bytes.insert(bytes.end(), obu.begin(), obu.end());
    return bytes;
  };
  const auto references = [](const CodedPicture& picture) {
    return std::set<int>(picture.references.begin(), picture.references.end());
  };
  const auto inspector = InspectorOf(AV_CODEC_ID_AV1);
  const auto inspect = [&](const std::vector<std::vector<uint8_t>>& obus, int flags = 0) {
    return Inspect(inspector.get(), join(obus), flags);
  };

  const std::vector<uint8_t> delimiter = {0x12, 0};
  const PacketInfo start = inspect({delimiter, sequence, key}, AV_PKT_FLAG_KEY);
  ASSERT_EQ(start.pictures.size(), 1u);  // 0
  EXPECT_EQ(start.pictures[0].begin, static_cast<int>(delimiter.size() + sequence.size()));
  EXPECT_EQ(references(start.pictures[0]), std::set<int>{-1});

  // A hidden frame goes into slot 4, with its tiles in an OBU of their own. A shown frame refers to
  // it.
  const auto hidden = Obu(3, inter(false, "010", "00010000", seven(slot_0)));
  const auto tiles = Obu(4, "1111");
  const auto shown = Obu(6, inter(true, "001", "00000000", seven(slot_4)));
  const PacketInfo both = inspect({delimiter, hidden, tiles, shown});
  ASSERT_EQ(both.pictures.size(), 2u);  // 1, 2
  EXPECT_EQ(both.pictures[0].begin, 2);
  EXPECT_EQ(both.pictures[0].end, static_cast<int>(2 + hidden.size() + tiles.size()));
  EXPECT_EQ(both.pictures[1].begin, both.pictures[0].end);
  EXPECT_FALSE(both.pictures[0].shown);
  EXPECT_TRUE(both.pictures[1].shown);
  EXPECT_EQ(references(both.pictures[0]), (std::set<int>{-1, 0}));
  EXPECT_EQ(references(both.pictures[1]), (std::set<int>{-1, 1}));
  EXPECT_FALSE(both.droppable);

  const PacketInfo shows_slot_4 = inspect({Obu(3, "1100")});  // 3
  EXPECT_EQ(references(shows_slot_4.pictures.at(0)), (std::set<int>{-1, 1}));
  EXPECT_TRUE(shows_slot_4.pictures[0].shown);

  const PacketInfo mixed =
      inspect({Obu(6, inter(true, "011", "10000000",
                            slot_0 + slot_4 + slot_7 + slot_0 + slot_0 + slot_0 + slot_0))});  // 4
  EXPECT_EQ(references(mixed.pictures.at(0)), (std::set<int>{-1, 0, 1}));
  // With this flag the references follow from the order hints of all slots.
  std::string by_order = inter(true, "100", "00000000", "000000");
  by_order[by_order.size() - 7] = '1';                       // frame_refs_short_signaling
  const PacketInfo all_slots = inspect({Obu(6, by_order)});  // 5
  EXPECT_EQ(references(all_slots.pictures.at(0)), (std::set<int>{0, 1, 4}));

  // A packet that is not understood needs all slots, and all later pictures need it.
  const PacketInfo cut_off = inspect({shown, {0x32}});  // 6
  ASSERT_EQ(cut_off.pictures.size(), 1u);
  EXPECT_EQ(cut_off.pictures[0].end, static_cast<int>(shown.size() + 1));
  EXPECT_EQ(references(cut_off.pictures[0]), (std::set<int>{0, 1, 4}));
  EXPECT_FALSE(cut_off.droppable);
  const auto later = Obu(6, inter(true, "101", "00000000", seven(slot_4)));
  const PacketInfo after = inspect({delimiter, later});  // 7
  EXPECT_EQ(references(after.pictures.at(0)), (std::set<int>{-1, 6}));
  EXPECT_EQ(after.pictures[0].begin, 2);
  // The same holds for a packet whose order hint does not rise, and for one that shows two frames
  // or none.
  for (const auto& obus : std::vector<std::vector<std::vector<uint8_t>>>{
           {delimiter, later}, {delimiter, shown, shown}, {delimiter, hidden}, {delimiter}}) {
    const PacketInfo doubtful = inspect(obus);
    ASSERT_EQ(doubtful.pictures.size(), 1u);
    EXPECT_EQ(doubtful.pictures[0].begin, 0);
    EXPECT_EQ(doubtful.pictures[0].end, static_cast<int>(join(obus).size()));
    EXPECT_FALSE(doubtful.droppable);
  }
  // A packet with a sequence header in the middle of the stream stays whole, so that nobody drops
  // the sequence header with the frames beside it.
  EXPECT_EQ(inspect({sequence, hidden, tiles, shown}).pictures.size(), 1u);
}

TEST(PacketInspectorTest, IntraCodecsStartAnywhere) {
  for (const AVCodecID codec : {AV_CODEC_ID_MJPEG, AV_CODEC_ID_PRORES, AV_CODEC_ID_RAWVIDEO}) {
    EXPECT_TRUE(Inspect(codec, {0}).random_access);
  }
  EXPECT_FALSE(Inspect(AV_CODEC_ID_FFV1, {0}).random_access);
  EXPECT_TRUE(Inspect(AV_CODEC_ID_FFV1, {0}, AV_PKT_FLAG_KEY).random_access);
}

TEST(PacketInspectorTest, UnknownCodecsAreLeftToTheDecoder) {
  EXPECT_FALSE(InspectorOf(AV_CODEC_ID_CINEPAK)->understands_codec());
  EXPECT_TRUE(InspectorOf(AV_CODEC_ID_AV1)->understands_codec());
}

TEST(PacketInspectorTest, H264OfARealStream) {
  const MemorySource source(BFramesClip());
  auto demuxer = Demuxer::Open(source, nullptr);
  ASSERT_TRUE(demuxer.ok()) << demuxer.status();
  const auto inspector = PacketInspector::Create(*(*demuxer)->stream().codec);
  AvPacketPtr packet(av_packet_alloc());
  int packets = 0, random_access = 0, droppable = 0;
  std::vector<std::pair<int64_t, int64_t>> pts;  // and order
  while ((*demuxer)->Next(packet.get()).value()) {
    const PacketInfo info = inspector->Inspect(*packet);
    EXPECT_EQ(info.shown, 1) << "packet " << packets;
    EXPECT_FALSE(info.random_access && info.droppable);
    if (packets == 0) EXPECT_TRUE(info.random_access);
    random_access += info.random_access;
    droppable += info.droppable;
    pts.emplace_back(packet->pts, info.order);
    ++packets;
  }
  EXPECT_FALSE(std::is_sorted(pts.begin(), pts.end())) << "B-frames come later in the stream";
  std::sort(pts.begin(), pts.end());
  for (size_t i = 1; i < pts.size(); ++i) EXPECT_LT(pts[i - 1].second, pts[i].second) << i;
  EXPECT_EQ(packets, kBFramesClipFrames);
  EXPECT_EQ(random_access, 3);
  EXPECT_GT(droppable, 5);  // B-frames that no other frame refers to
}

TEST(PacketInspectorTest, H264FieldsAndDamageAreLeftToTheDecoder) {
  EXPECT_EQ(Inspect(AV_CODEC_ID_H264, {0, 0, 1, 0x65, 0xB8}).shown, -1);  // no parameter sets
  EXPECT_EQ(Inspect(AV_CODEC_ID_H264, {9, 9, 9}).shown, -1);
}

// Returns an access unit with one slice, which uses picture parameter set 0. The stream has an
// 8-bit frame_num, and its pictures may be fields.
std::vector<uint8_t> FieldSlice(int ref_idc, int type, uint8_t frame_num, bool field, bool bottom) {
  // first_mb 0, slice_type 5 (P) and pps 0 are 1 00110 1. Then come frame_num, field_pic_flag and,
  // for a field, bottom_field_flag.
  std::string bits = "1001101";
  for (int i = 7; i >= 0; --i) bits += (frame_num >> i & 1) ? '1' : '0';
  bits += field ? '1' : '0';
  if (field) bits += bottom ? '1' : '0';
  bits.resize(40, '1');
  std::vector<uint8_t> nal = {0, 0, 1, static_cast<uint8_t>(ref_idc << 5 | type)};
  for (size_t i = 0; i < bits.size(); i += 8) {
    nal.push_back(static_cast<uint8_t>(std::stoi(bits.substr(i, 8), nullptr, 2)));
  }
  return nal;
}

class H264FieldsTest : public ::testing::Test {
 protected:
  H264FieldsTest() : inspector_(InspectorOf(AV_CODEC_ID_H264)) {
    // Main profile, level 3, id 0. frame_num and the picture order count have 8 bits each. There
    // are 4 references and no gaps. A picture has 3x2 macroblocks of field pairs.
    Inspect(inspector_.get(), {0, 0, 1, 0x67, 77, 0, 30, 0b10010110, 0b01010010, 0b10011010,
                               0b01000101, 0x80, 0, 0, 1, 0x68, 0b11001110, 0x3C, 0x80});
  }

  PacketInfo Slice(int ref_idc, uint8_t frame_num, bool field = false, bool bottom = false,
                   bool idr = false) {
    return Inspect(inspector_.get(), FieldSlice(ref_idc, idr ? 5 : 1, frame_num, field, bottom));
  }

  std::unique_ptr<PacketInspector> inspector_;
};

// A decoder that starts in the stream has the first sets alone.
TEST_F(H264FieldsTest, DecodingStartsOnlyWhereTheSetsInForceAreKnown) {
  const auto idr_with = [&](uint8_t last_of_pps) {
    std::vector<uint8_t> unit = {0, 0, 1, 0x28, 0b11001110, last_of_pps, 0x80};
    const std::vector<uint8_t> slice = FieldSlice(2, 5, 0, false, false);
    unit.insert(unit.end(), slice.begin(), slice.end());
    return Inspect(inspector_.get(), unit).random_access;
  };
  const auto idr = [&] { return Slice(2, 0, false, false, /*idr=*/true).random_access; };
  EXPECT_TRUE(idr());
  EXPECT_TRUE(idr_with(0x3C)) << "the same set again";
  EXPECT_TRUE(idr());
  EXPECT_TRUE(idr_with(0x38)) << "another set, in this packet";
  EXPECT_FALSE(idr());
  EXPECT_TRUE(idr_with(0x3C));
  EXPECT_TRUE(idr());
}

TEST_F(H264FieldsTest, ASecondFieldHasTheOtherParityAndTheSameNumber) {
  EXPECT_FALSE(Slice(2, 0, true, false, /*idr=*/true).second_field);
  EXPECT_TRUE(Slice(2, 0, true, true).second_field);
  EXPECT_FALSE(Slice(2, 1, true, true).second_field);
  EXPECT_TRUE(Slice(2, 1, true, false).second_field);
  EXPECT_FALSE(Slice(0, 2, true, false).second_field);
  EXPECT_FALSE(
      Slice(0, 2, true, false).second_field);  // the same parity: the field before stays alone
  EXPECT_TRUE(Slice(0, 2, true, true).second_field);
  EXPECT_FALSE(Slice(0, 2, true, false).second_field);
  EXPECT_FALSE(Slice(2, 2).second_field);  // a frame
  EXPECT_FALSE(Slice(2, 3, true, true).second_field);
  EXPECT_FALSE(Slice(2, 0, true, false, /*idr=*/true).second_field);
}

TEST_F(H264FieldsTest, FieldsAreForTheDecoderToCount) {
  EXPECT_EQ(Slice(2, 0, true).shown, -1);
  EXPECT_EQ(Slice(2, 1).shown, 1);
}

TEST_F(H264FieldsTest, AGapInTheNumbersIsALostReference) {
  EXPECT_FALSE(Slice(2, 7).lacks_reference);  // the first picture may have any number
  EXPECT_FALSE(Slice(0, 8).lacks_reference);
  EXPECT_FALSE(Slice(0, 8).lacks_reference);
  EXPECT_FALSE(Slice(2, 8).lacks_reference);
  EXPECT_TRUE(Slice(0, 10).lacks_reference);
  EXPECT_FALSE(Slice(2, 10).lacks_reference);  // reported once only
  EXPECT_TRUE(Slice(2, 13).lacks_reference);
  EXPECT_FALSE(Slice(2, 0, false, false, /*idr=*/true).lacks_reference);
  EXPECT_FALSE(Slice(2, 1).lacks_reference);
  EXPECT_TRUE(Slice(2, 255).lacks_reference);
  EXPECT_FALSE(Slice(2, 0).lacks_reference);  // the numbers wrap
}

}  // namespace
}  // namespace nvc
