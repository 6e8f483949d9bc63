#include "tf_nvcodec/nv/decode/nvdec_headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/testing/x265_leaks.h"
#include "tf_nvcodec/core/bitstream/parameter_sets.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/decoder.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
}

namespace nvc {
namespace {

struct Stream {
  const char* encoder;
  const char* parameters = "";  // own options of x264 or x265
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
  int width = 320, height = 192;
  const char* filter = nullptr;  // a bitstream filter that rewrites the headers
  bool interlaced = false;
};

AVCodecID CodecOf(const Stream& stream) { return avcodec_find_encoder_by_name(stream.encoder)->id; }

AvPacketPtr Filtered(AvPacketPtr packet, const Stream& stream) {
  if (stream.filter == nullptr) return packet;
  AVBSFContext* filter = nullptr;
  EXPECT_GE(av_bsf_list_parse_str(stream.filter, &filter), 0);
  filter->par_in->codec_id = CodecOf(stream);
  filter->par_in->codec_type = AVMEDIA_TYPE_VIDEO;
  EXPECT_GE(av_bsf_init(filter), 0);
  EXPECT_GE(av_bsf_send_packet(filter, packet.get()), 0);
  EXPECT_GE(av_bsf_receive_packet(filter, packet.get()), 0);
  av_bsf_free(&filter);
  return packet;
}

// Encodes one picture and returns its packet with headers, in Annex B form.
AvPacketPtr Encode(const Stream& stream) {
  AVCodecContext* context = avcodec_alloc_context3(avcodec_find_encoder_by_name(stream.encoder));
  context->width = stream.width;
  context->height = stream.height;
  context->pix_fmt = stream.format;
  context->time_base = {1, 25};
  context->thread_count = 1;
  if (stream.interlaced) context->flags |= AV_CODEC_FLAG_INTERLACED_DCT;
  const bool h264 = CodecOf(stream) == AV_CODEC_ID_H264;
  av_opt_set(context->priv_data, "preset", "ultrafast", 0);
  const std::string parameters = std::string(h264 ? "" : "log-level=error:") + stream.parameters;
  av_opt_set(context->priv_data, h264 ? "x264-params" : "x265-params", parameters.c_str(), 0);
  EXPECT_GE(avcodec_open2(context, context->codec, nullptr), 0);
  AvFramePtr frame(av_frame_alloc());
  frame->format = stream.format;
  frame->width = stream.width;
  frame->height = stream.height;
  frame->pts = 0;
  EXPECT_GE(av_frame_get_buffer(frame.get(), 0), 0);
  for (int i = 0; i < 3; ++i) {
    if (frame->buf[i] != nullptr) std::memset(frame->buf[i]->data, 100, frame->buf[i]->size);
  }
  EXPECT_GE(avcodec_send_frame(context, frame.get()), 0);
  EXPECT_GE(avcodec_send_frame(context, nullptr), 0);
  AvPacketPtr packet(av_packet_alloc());
  EXPECT_GE(avcodec_receive_packet(context, packet.get()), 0);
  avcodec_free_context(&context);
  return Filtered(std::move(packet), stream);
}

// Returns the window that FFmpeg's decoder reports when it does not crop.
PictureWindow Decoded(const AVPacket& packet, const Stream& stream) {
  AVCodecContext* context = avcodec_alloc_context3(avcodec_find_decoder(CodecOf(stream)));
  context->apply_cropping = 0;
  context->thread_count = 1;
  EXPECT_GE(avcodec_open2(context, context->codec, nullptr), 0);
  EXPECT_GE(avcodec_send_packet(context, &packet), 0);
  EXPECT_GE(avcodec_send_packet(context, nullptr), 0);
  AvFramePtr frame(av_frame_alloc());
  EXPECT_GE(avcodec_receive_frame(context, frame.get()), 0);
  PictureWindow window;
  window.coded_width = frame->width;
  window.coded_height = frame->height;
  window.left = static_cast<int>(frame->crop_left);
  window.top = static_cast<int>(frame->crop_top);
  window.width = frame->width - static_cast<int>(frame->crop_left + frame->crop_right);
  window.height = frame->height - static_cast<int>(frame->crop_top + frame->crop_bottom);
  window.chroma_location = frame->chroma_location;
  avcodec_free_context(&context);
  return window;
}

// Returns the chroma siting of HEVC whose headers are in `packet`.
AVChromaLocation Declared(const AVPacket& packet) {
  AvCodecParametersPtr codec(avcodec_parameters_alloc());
  codec->codec_type = AVMEDIA_TYPE_VIDEO;
  codec->codec_id = AV_CODEC_ID_HEVC;
  const std::string bytes(packet.data, packet.data + packet.size);
  EXPECT_TRUE(SetParameterSets(bytes, codec.get()).ok());
  return DeclaredChromaLocation(*codec);
}

constexpr const char* kH264Crop =
    "h264_metadata=crop_left=6:crop_top=4:crop_right=2:crop_bottom=10";
constexpr const char* kHevcCrop =
    "hevc_metadata=crop_left=6:crop_top=4:crop_right=2:crop_bottom=10";

TEST(NvdecHeadersTest, WindowsAreThoseOfFfmpegsDecoders) {
  av_log_set_level(AV_LOG_ERROR);
  const Stream kStreams[] = {
      {"libx264", ""},
      {"libx264", "chromaloc=1:colorprim=bt709:videoformat=pal:fullrange=on", AV_PIX_FMT_YUV420P,
       334, 198},
      {"libx264", "chromaloc=2:sar=3/2:overscan=show", AV_PIX_FMT_YUV420P, 320, 192, kH264Crop},
      {"libx264", "sar=16/11", AV_PIX_FMT_YUV444P, 321, 193, kH264Crop},
      {"libx264", "8x8dct=1:cqm=jvt:chromaloc=3", AV_PIX_FMT_YUV422P, 322, 201},
      {"libx264", "interlaced=1:chromaloc=4", AV_PIX_FMT_YUV420P, 320, 180,
       "h264_metadata=crop_left=6:crop_top=4:crop_right=2:crop_bottom=12", true},
      {"libx264", "bframes=3:ref=4:chromaloc=5", AV_PIX_FMT_YUV420P10LE, 318, 190},
      {"libx265", ""},
      {"libx265", "chromaloc=1:sar=1:range=full:colorprim=bt709", AV_PIX_FMT_YUV420P, 334, 198},
      {"libx265", "chromaloc=2:sar=5:overscan=show", AV_PIX_FMT_YUV420P, 320, 192, kHevcCrop},
      {"libx265", "scaling-list=default:chromaloc=3:bframes=4:ref=4:rc-lookahead=5",
       AV_PIX_FMT_YUV420P, 330, 202},
      {"libx265", "temporal-layers=3:chromaloc=1", AV_PIX_FMT_YUV420P10LE, 318, 190, kHevcCrop},
      {"libx265", "", AV_PIX_FMT_YUV444P, 321, 193, kHevcCrop},
  };
  for (const Stream& stream : kStreams) {
    SCOPED_TRACE(std::string(stream.encoder) + " " + stream.parameters);
    const AvPacketPtr packet = Encode(stream);
    const auto found =
        FindWindow(CodecOf(stream), packet->data, static_cast<size_t>(packet->size), 0, 0);
    ASSERT_TRUE(found.has_value());
    const PictureWindow want = Decoded(*packet, stream);
    EXPECT_EQ(found->left, want.left);
    EXPECT_EQ(found->top, want.top);
    EXPECT_EQ(found->width, want.width);
    EXPECT_EQ(found->height, want.height);
    const bool hevc = CodecOf(stream) == AV_CODEC_ID_HEVC;
    const AVChromaLocation siting = hevc ? Declared(*packet) : found->chroma_location;
    // FFmpeg's H.264 decoder replaces an unspecified chroma siting by the default.
    if (siting != AVCHROMA_LOC_UNSPECIFIED || want.chroma_location != AVCHROMA_LOC_LEFT) {
      EXPECT_EQ(siting, want.chroma_location);
    }
    // A truncated packet has no window, or one that is inside the coded picture.
    for (int size = 0; size < packet->size && size < 200; ++size) {
      const auto part = FindWindow(CodecOf(stream), packet->data, static_cast<size_t>(size), 0, 0);
      if (part.has_value()) EXPECT_LE(part->left + part->width, part->coded_width);
    }
  }
}

// Returns the beginning of a stream up to its first slice.
std::vector<uint8_t> Headers(const Stream& stream) {
  const AvPacketPtr packet = Encode(stream);
  const std::vector<uint8_t> bytes(packet->data, packet->data + packet->size);
  const uint8_t kIdr[] = {0, 0, 1, 0x65};
  return {bytes.begin(), std::search(bytes.begin(), bytes.end(), std::begin(kIdr), std::end(kIdr))};
}

TEST(NvdecHeadersTest, OfSeveralParameterSetsItIsTheOneOfTheCodedSize) {
  const std::vector<uint8_t> large = Headers({"libx264", "", AV_PIX_FMT_YUV420P, 318, 190});
  const std::vector<uint8_t> small = Headers({"libx264", "", AV_PIX_FMT_YUV420P, 158, 94});
  for (const bool large_first : {true, false}) {
    std::vector<uint8_t> both = large_first ? large : small;
    const auto& last = large_first ? small : large;
    both.insert(both.end(), last.begin(), last.end());
    const auto width = [&](int coded_width, int coded_height) {
      return FindWindow(AV_CODEC_ID_H264, both.data(), both.size(), coded_width, coded_height)
          ->width;
    };
    EXPECT_EQ(width(320, 192), 318);
    EXPECT_EQ(width(160, 96), 158);
    EXPECT_EQ(width(640, 480), large_first ? 158 : 318) << "of neither size: the last one";
  }
}

TEST(NvdecHeadersTest, ParameterSetsSayWhetherThereMayBeFields) {
  const char kFields[] = "interlaced=1", kFrames[] = "";
  for (const char* parameters : {kFields, kFrames}) {
    const AvPacketPtr packet = Encode({"libx264", parameters, AV_PIX_FMT_YUV420P, 320, 192});
    EXPECT_EQ(MayTurnToFields(packet->data, static_cast<size_t>(packet->size)),
              parameters == kFields);
  }
  const uint8_t kSlice[] = {0, 0, 1, 0x41, 0x9a};
  EXPECT_FALSE(MayTurnToFields(kSlice, sizeof kSlice));
}

TEST(NvdecHeadersTest, Vp8TellsItsSizeInKeyFrames) {
  std::vector<uint8_t> key = {0x10, 0, 0, 0x9d, 1, 0x2a, 0x23, 0x41, 0xc3, 0x80};
  const auto window = FindWindow(AV_CODEC_ID_VP8, key.data(), key.size(), 0, 0);
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->width, 0x123);  // the two highest bits are a scaling factor
  EXPECT_EQ(window->height, 0xc3);
  key[0] = 0x11;
  EXPECT_FALSE(FindWindow(AV_CODEC_ID_VP8, key.data(), key.size(), 0, 0).has_value());
  EXPECT_FALSE(FindWindow(AV_CODEC_ID_VP8, key.data(), 9, 0, 0).has_value());
}

TEST(NvdecHeadersTest, Vp9HasChromaOfFullSizeInOddProfiles) {
  for (int profile = 0; profile < 4; ++profile) {
    const auto header = static_cast<uint8_t>(0x80 | (profile & 1) << 5 | (profile >> 1 & 1) << 4);
    EXPECT_EQ(CheckVp9Profile(&header, 1).ok(), profile % 2 == 0) << profile;
  }
  EXPECT_TRUE(CheckVp9Profile(nullptr, 0).ok());
}

}  // namespace
}  // namespace nvc
