#include "tf_nvcodec/nv/decode/jpeg_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

using Bytes = std::vector<uint8_t>;

// Returns a picture with the Huffman tables of T.81, K.3, which FFmpeg writes.
Bytes Jpeg() {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  AvCodecContextPtr context(avcodec_alloc_context3(codec));
  context->width = 64;
  context->height = 48;
  context->pix_fmt = AV_PIX_FMT_YUVJ420P;
  context->time_base = {1, 25};
  EXPECT_EQ(av_opt_set(context.get(), "huffman", "default", AV_OPT_SEARCH_CHILDREN), 0);
  EXPECT_EQ(avcodec_open2(context.get(), codec, nullptr), 0);
  AvFramePtr frame(av_frame_alloc());
  frame->format = context->pix_fmt;
  frame->width = context->width;
  frame->height = context->height;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  for (int plane = 0; plane < 3; ++plane) {
    const int rows = plane == 0 ? 48 : 24, columns = plane == 0 ? 64 : 32;
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        frame->data[plane][y * frame->linesize[plane] + x] = static_cast<uint8_t>(x * y + 90);
      }
    }
  }
  AvPacketPtr packet(av_packet_alloc());
  EXPECT_EQ(avcodec_send_frame(context.get(), frame.get()), 0);
  EXPECT_EQ(avcodec_send_frame(context.get(), nullptr), 0);
  EXPECT_EQ(avcodec_receive_packet(context.get(), packet.get()), 0);
  return Bytes(packet->data, packet->data + packet->size);
}

// Returns the offsets of the segment and of the one after it.
std::pair<size_t, size_t> Segment(const Bytes& jpeg, uint8_t marker) {
  const Bytes start = {0xff, marker};
  const auto at = std::search(jpeg.begin(), jpeg.end(), start.begin(), start.end()) - jpeg.begin();
  return {at, at + 2 + (jpeg[at + 2] << 8 | jpeg[at + 3])};
}

TEST(JpegTablesTest, TheyAreFFmpegsBeforeTheScan) {
  const Bytes jpeg = Jpeg();
  const auto [begin, end] = Segment(jpeg, 0xc4);
  ASSERT_LT(end, jpeg.size());
  const Bytes tables(jpeg.begin() + begin, jpeg.begin() + end);
  Bytes without(jpeg);
  without.erase(without.begin() + begin, without.begin() + end);

  const auto whole = WithHuffmanTables(without);
  ASSERT_TRUE(whole.has_value());
  const size_t scan = Segment(without, 0xda).first;
  Bytes want(without);
  want.insert(want.begin() + scan, tables.begin(), tables.end());
  EXPECT_EQ(*whole, want);
  EXPECT_FALSE(WithHuffmanTables(*whole).has_value());
  EXPECT_FALSE(WithHuffmanTables(jpeg).has_value());
}

TEST(JpegTablesTest, FillBytesMayBeBeforeAMarker) {
  const Bytes tables = {0xff, 0xd8, 0xff, 0xff, 0xff, 0xc4, 0, 2, 0xff, 0xda, 0, 2};
  EXPECT_FALSE(WithHuffmanTables(tables).has_value());
  const Bytes none = {0xff, 0xd8, 0xff, 0xff, 0xff, 0xdd, 0, 4, 1, 2, 0xff, 0xda, 0, 2};
  EXPECT_TRUE(WithHuffmanTables(none).has_value());
}

TEST(JpegTablesTest, WhatIsNoJpegIsLeftAlone) {
  const Bytes jpeg = Jpeg();
  const size_t scan = Segment(jpeg, 0xda).first;
  const Bytes headers(jpeg.begin(), jpeg.begin() + scan);
  for (size_t size = 0; size <= headers.size(); ++size) {
    EXPECT_FALSE(WithHuffmanTables(absl::MakeConstSpan(headers.data(), size)).has_value()) << size;
  }
  EXPECT_FALSE(WithHuffmanTables(Bytes(100, 0)).has_value());
  EXPECT_FALSE(WithHuffmanTables(Bytes{0xff, 0xd8, 0, 1, 2, 3, 4}).has_value());
  EXPECT_FALSE(WithHuffmanTables(Bytes{0xff, 0xd8, 0xff, 0xdb, 0xff, 0xff, 0}).has_value());
}

}  // namespace
}  // namespace nvc
