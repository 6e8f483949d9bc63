// Decodes packets to frames in device memory, on a fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/capi/packet_decoder.h"
#include "tf_nvcodec/nv/decode/nvdec_pool.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuDecoderTest : public ::testing::Test {
 protected:
  ~GpuDecoderTest() override { NvdecPool::Of(gpu_.device()).value()->Clear(); }

  PacketDecoder Decoder(bool low_latency = true) {
    PacketDecoderOptions options;
    options.gpu.device = gpu_.device();
    options.gpu.frames_stay = true;
    options.low_latency = low_latency;
    options.must_be_gpu = must_be_gpu_;
    return PacketDecoder(options);
  }

  static std::shared_ptr<const PacketStream> Stream(AVCodecID codec) {
    auto stream = std::make_shared<PacketStream>();
    stream->codec.reset(avcodec_parameters_alloc());
    stream->codec->codec_type = AVMEDIA_TYPE_VIDEO;
    stream->codec->codec_id = codec;
    return stream;
  }

  absl::Status Send(PacketDecoder* decoder, const std::string& words, int flags = 0) {
    AvPacketPtr packet(av_packet_alloc());
    av_new_packet(packet.get(), static_cast<int>(words.size()));
    std::memcpy(packet->data, words.data(), words.size());
    packet->pts = 100 + packets_++;
    packet->flags = packets_ == 1 ? AV_PKT_FLAG_KEY : flags;
    return decoder->Decode(*packet, stream_);
  }

  static std::vector<int64_t> Times(PacketDecoder* decoder) {
    std::vector<int64_t> times;
    while (const auto frame = decoder->TakeFrame()) times.push_back(frame->pts);
    return times;
  }

  // Returns a NAL unit of the given type, with words for the fake parser.
  static std::string Hevc(int type, const std::string& words) {
    return absl::StrCat(std::string("\0\0\0\1", 4), std::string(1, static_cast<char>(type << 1)),
                        "\1 ", words);
  }

  FakeGpu gpu_;
  std::shared_ptr<const PacketStream> stream_ = Stream(AV_CODEC_ID_VP8);
  bool must_be_gpu_ = false;
  int packets_ = 0;
};

TEST_F(GpuDecoderTest, AtLowLatencyFramesComeWithTheirPackets) {
  PacketDecoder decoder = Decoder();
  ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
  EXPECT_THAT(Times(&decoder), ElementsAre(100));
  ASSERT_TRUE(Send(&decoder, "P1 D1").ok());
  EXPECT_THAT(Times(&decoder), ElementsAre(101));
}

TEST_F(GpuDecoderTest, WithoutLowLatencyFramesComeThreePacketsLate) {
  PacketDecoder decoder = Decoder(/*low_latency=*/false);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Send(&decoder, absl::StrCat(i == 0 ? "S96x64 I" : "P", i, " D", i)).ok());
    EXPECT_EQ(decoder.num_frames(), i < 3 ? 0u : 1u);
  }
  ASSERT_TRUE(decoder.Finish().ok());
  EXPECT_THAT(Times(&decoder), ElementsAre(100, 101, 102, 103));
}

// The packets have a dts but no pts, as in AVI files.
TEST_F(GpuDecoderTest, FramesOfPacketsWithoutPtsHaveTheDtsThatFfmpegGives) {
  stream_->codec->video_delay = 2;
  PacketDecoder decoder = Decoder(/*low_latency=*/false);
  for (int i = 0; i < 5; ++i) {
    const std::string words = absl::StrCat(i == 0 ? "S96x64 I" : "P", i, " D", i);
    AvPacketPtr packet(av_packet_alloc());
    av_new_packet(packet.get(), static_cast<int>(words.size()));
    std::memcpy(packet->data, words.data(), words.size());
    packet->dts = 10 * i;
    packet->flags = i == 0 ? AV_PKT_FLAG_KEY : 0;
    ASSERT_TRUE(decoder.Decode(*packet, stream_).ok());
  }
  ASSERT_TRUE(decoder.Finish().ok());
  EXPECT_THAT(Times(&decoder), ElementsAre(20, 30, 40, AV_NOPTS_VALUE, AV_NOPTS_VALUE));
}

TEST_F(GpuDecoderTest, FramesHaveMemoryOfTheirOwnOnTheGpu) {
  PacketDecoder decoder = Decoder();
  std::vector<std::unique_ptr<nvc_frame>> frames;
  std::set<void*> memory;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        Send(&decoder, absl::StrCat(i == 0 ? "S96x64 " : "", "I", i % 4, " D", i % 4)).ok());
    frames.push_back(decoder.TakeFrame());
    ASSERT_NE(frames.back(), nullptr);
    memory.insert(frames.back()->memory->data());
    EXPECT_EQ(frames.back()->memory->device_id(), gpu_.device()->ordinal());
  }
  EXPECT_EQ(memory.size(), frames.size());
  // The decoder waits for each frame before it returns it.
  EXPECT_GE(gpu_.Count("StreamSynchronize"), 10);
}

TEST_F(GpuDecoderTest, FramesAndDecoderMayOutliveTheirContext) {
  uint64_t place = 0;
  const auto context = reinterpret_cast<CUcontext>(&place);
  gpu_.foreign[context] = {7, gpu_.device()->ordinal()};
  PacketDecoderOptions options;
  options.gpu.device = gpu_.device()->InContext(context).value();
  options.gpu.frames_stay = true;
  options.low_latency = true;
  {
    PacketDecoder decoder(options);
    gpu_.used.clear();
    ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
    const auto frame = decoder.TakeFrame();
    ASSERT_NE(frame, nullptr);
    EXPECT_THAT(gpu_.used, ElementsAre(context));
    gpu_.foreign.clear();
    const absl::Status status = Send(&decoder, "P1 D1");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("is destroyed"));
    EXPECT_THAT(Times(&decoder), IsEmpty());
    gpu_.calls.clear();
  }
  EXPECT_THAT(gpu_.calls, IsEmpty());
  gpu_.open.clear();
}

TEST_F(GpuDecoderTest, RaslPicturesAfterAStartInTheMiddleAreLeftOut) {
  constexpr int kCra = 21, kRasl = 9, kTrailing = 1;
  stream_ = Stream(AV_CODEC_ID_HEVC);
  PacketDecoder decoder = Decoder(/*low_latency=*/false);
  ASSERT_TRUE(Send(&decoder, Hevc(kCra, "S96x64 I1")).ok());
  ASSERT_TRUE(Send(&decoder, Hevc(kRasl, "P2")).ok());
  ASSERT_TRUE(Send(&decoder, Hevc(kTrailing, "P3")).ok());
  ASSERT_TRUE(Send(&decoder, Hevc(kCra, "I1")).ok());
  ASSERT_TRUE(Send(&decoder, Hevc(kRasl, "P2")).ok());
  EXPECT_THAT(gpu_.CallsOf("Decode"), ElementsAre("Decode 1", "Decode 3", "Decode 1", "Decode 2"));
  ASSERT_TRUE(decoder.Finish().ok());
  gpu_.calls.clear();
  ASSERT_TRUE(Send(&decoder, Hevc(kCra, "S96x64 I1")).ok());
  ASSERT_TRUE(Send(&decoder, Hevc(kRasl, "P2")).ok());
  EXPECT_THAT(gpu_.CallsOf("Decode"), ElementsAre("Decode 1"));
}

TEST_F(GpuDecoderTest, FfmpegDecodesStreamsWhoseHeadersNvdecRefuses) {
  PacketDecoder decoder = Decoder();
  const absl::Status status = Send(&decoder, "S96x64/10 I0 D0");
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;  // from FFmpeg, because the packet is not VP8
  gpu_.calls.clear();
  EXPECT_TRUE(absl::IsDataLoss(Send(&decoder, "P1 D1")));
  EXPECT_THAT(gpu_.CallsOf("Parse"), IsEmpty());

  must_be_gpu_ = true;
  PacketDecoder alone = Decoder();
  EXPECT_TRUE(absl::IsUnimplemented(Send(&alone, "S96x64/10 I0 D0")));
}

TEST_F(GpuDecoderTest, FfmpegContinuesWhereNvdecRefusesAChange) {
  PacketDecoder decoder = Decoder(/*low_latency=*/false);
  ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
  ASSERT_TRUE(Send(&decoder, "P1 D1").ok());
  EXPECT_THAT(Times(&decoder), IsEmpty());
  absl::Status status = Send(&decoder, "S96x64/10 I2 D2", AV_PKT_FLAG_KEY);
  EXPECT_THAT(Times(&decoder), ElementsAre(100, 101));
  gpu_.calls.clear();
  status.Update(Send(&decoder, "P1 D1"));
  status.Update(decoder.Finish());
  // FFmpeg reports that the packet is not VP8. With threads it may do so later.
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(gpu_.CallsOf("Parse"), IsEmpty());
}

TEST_F(GpuDecoderTest, ARefusalDoesNotHideEarlierDamage) {
  PacketDecoder decoder = Decoder(/*low_latency=*/false);
  ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
  ASSERT_TRUE(Send(&decoder, "P1 D1").ok());
  gpu_.decode_status[1] = cuvidDecodeStatus_Error;
  const absl::Status status = Send(&decoder, "S96x64/10 I2 D2", AV_PKT_FLAG_KEY);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the frame with timestamp 101 is damaged"));
  EXPECT_THAT(Times(&decoder), ElementsAre(100));
}

TEST_F(GpuDecoderTest, ReportsARefusalAtTheEnd) {
  PacketDecoder decoder = Decoder();
  ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
  gpu_.at_end = "S96x64/10 I1 D1";
  const absl::Status status = decoder.Finish();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(Times(&decoder), ElementsAre(100));
  // FFmpeg gets the next packet and reports that it is not VP8.
  EXPECT_TRUE(absl::IsDataLoss(Send(&decoder, "P1 D1", AV_PKT_FLAG_KEY)));
}

TEST_F(GpuDecoderTest, ReportsARefusalBetweenKeyFramesOnce) {
  stream_ = Stream(AV_CODEC_ID_VP9);
  PacketDecoder decoder = Decoder();
  ASSERT_TRUE(Send(&decoder, "S96x64 I0 D0").ok());
  const absl::Status status = Send(&decoder, "S192x128 P1 D1");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("packet with timestamp 101: NVDEC can't change the size"
                                          " between key frames; FFmpeg goes on from the next"));
  EXPECT_THAT(Times(&decoder), ElementsAre(100));
  EXPECT_TRUE(Send(&decoder, "P2 D2").ok());
  EXPECT_THAT(Times(&decoder), IsEmpty());
}

TEST_F(GpuDecoderTest, FfmpegDecodesCodecsThatNvdecIsNotUsedFor) {
  stream_ = Stream(AV_CODEC_ID_MPEG4);
  PacketDecoder unasked = Decoder();
  EXPECT_FALSE(absl::IsUnimplemented(Send(&unasked, "S96x64 I0 D0")));
  must_be_gpu_ = true;
  PacketDecoder asked = Decoder();
  const absl::Status refused = Send(&asked, "S96x64 I0 D0");
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("\"nvdec\": NVDEC is not used for codec 'mpeg4', only"));
  EXPECT_THAT(refused.message(), HasSubstr("\"cpu\" decodes with FFmpeg"));
  EXPECT_EQ(gpu_.Count("CreateParser"), 0);
}

TEST_F(GpuDecoderTest, NvdecBackendNamesAStreamThatTheGpuRefuses) {
  stream_ = Stream(AV_CODEC_ID_AV1);
  must_be_gpu_ = true;
  PacketDecoder decoder = Decoder();
  const absl::Status status = Send(&decoder, "S96x64 I0 D0");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("backend=\"nvdec\": Fake H200's NVDEC does not decode"));
  EXPECT_THAT(status.message(), HasSubstr("\"cpu\" decodes with FFmpeg"));
}

}  // namespace
}  // namespace nvc
