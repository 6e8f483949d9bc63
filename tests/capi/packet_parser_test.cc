#include "tf_nvcodec/capi/packet_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace nvc {
namespace {

using ::testing::ElementsAre;

// Encodes four frames in one GOP.
std::string Encode(AVCodecID codec, AVPixelFormat format) {
  AVCodecContext* context = avcodec_alloc_context3(avcodec_find_encoder(codec));
  context->width = 96;
  context->height = 64;
  context->pix_fmt = format;
  context->time_base = {1, 25};
  EXPECT_GE(avcodec_open2(context, context->codec, nullptr), 0);
  AvFramePtr frame(av_frame_alloc());
  frame->format = format;
  frame->width = context->width;
  frame->height = context->height;
  EXPECT_GE(av_frame_get_buffer(frame.get(), 0), 0);
  AvPacketPtr packet(av_packet_alloc());
  std::string stream;
  for (int i = 0; i <= 4; ++i) {
    EXPECT_GE(av_frame_make_writable(frame.get()), 0);
    std::memset(frame->buf[0]->data, 100, frame->buf[0]->size);
    frame->pts = i;
    EXPECT_GE(avcodec_send_frame(context, i < 4 ? frame.get() : nullptr), 0);
    while (avcodec_receive_packet(context, packet.get()) >= 0) {
      stream.append(reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size));
    }
  }
  avcodec_free_context(&context);
  return stream;
}

std::vector<bool> Keys(AVCodecID codec, const std::string& stream) {
  std::vector<bool> keys;
  const auto take = [&](const AVPacket& packet) {
    keys.push_back((packet.flags & AV_PKT_FLAG_KEY) != 0);
    return absl::OkStatus();
  };
  const auto parser = PacketParser::Create(codec).value();
  AvPacketPtr piece(av_packet_alloc());
  EXPECT_GE(av_new_packet(piece.get(), static_cast<int>(stream.size())), 0);
  std::memcpy(piece->data, stream.data(), stream.size());
  EXPECT_TRUE(parser->Parse(*piece, take).ok());
  EXPECT_TRUE(parser->Finish(take).ok());
  return keys;
}

TEST(PacketParserTest, TellsKeyFrames) {
  for (const AVCodecID codec : {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO}) {
    EXPECT_THAT(Keys(codec, Encode(codec, AV_PIX_FMT_YUV420P)),
                ElementsAre(true, false, false, false))
        << avcodec_get_name(codec);
  }
  EXPECT_THAT(Keys(AV_CODEC_ID_MJPEG, Encode(AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUVJ420P)),
              ElementsAre(true, true, true, true));
}

}  // namespace
}  // namespace nvc
