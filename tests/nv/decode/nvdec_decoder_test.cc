#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nv/decode/nvdec_decoder_fixture.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(NvdecDecoderTest, TheEngineHasThreeMorePicturesToWorkOn) {
  Open();
  EXPECT_THAT(SendAndReceive("S96x64 I0 D0"), IsEmpty());
  EXPECT_THAT(SendAndReceive("P1 D1"), IsEmpty());
  EXPECT_THAT(SendAndReceive("P2 D2"), IsEmpty());
  EXPECT_EQ(gpu_.Count("Map"), 0);
  EXPECT_THAT(SendAndReceive("P3 D3"), ElementsAre(0));
  EXPECT_THAT(SendAndReceive("P4 D4"), ElementsAre(1));
  EXPECT_THAT(Finish(), ElementsAre(2, 3, 4));
  EXPECT_FALSE(decoder_->TakeErrors());
}

TEST_F(NvdecDecoderTest, AtLowLatencyAPictureComesWithThePacketThatShowsIt) {
  DecoderOptions options;
  options.low_latency = true;
  Open(AV_CODEC_ID_VP8, "", options);
  EXPECT_THAT(SendAndReceive("S96x64 I0 D0"), ElementsAre(0));
  EXPECT_THAT(SendAndReceive("P1 D1"), ElementsAre(1));
  EXPECT_THAT(SendAndReceive("P2"), IsEmpty());
  EXPECT_THAT(SendAndReceive("P3 D3 D2"), ElementsAre(3, 2));
  EXPECT_THAT(Finish(), IsEmpty());
}

TEST_F(NvdecDecoderTest, FramesNamePacketsInTheOrderShown) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1");
  SendAndReceive("P2 D2");
  EXPECT_THAT(SendAndReceive("P3 D1"), IsEmpty());
  gpu_.at_end = "D3";
  EXPECT_THAT(Finish(), ElementsAre(0, 2, 1, 3));
}

TEST_F(NvdecDecoderTest, TheEndShowsWhatTheParserHeldBack) {
  Open();
  SendAndReceive("S96x64 I0");
  gpu_.at_end = "D0";
  EXPECT_THAT(Finish(), ElementsAre(0));
  EXPECT_THAT(gpu_.CallsOf("Parse"), ElementsAre("Parse whole S96x64 I0", "Parse end"));
}

TEST_F(NvdecDecoderTest, FramesCarryThePicture) {
  Open();
  SendAndReceive("S96x64+4 I0 D0");
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  ASSERT_TRUE(decoder_->Receive(frame_.get()).value());
  EXPECT_EQ(frame_->format, AV_PIX_FMT_CUDA);
  EXPECT_EQ(frame_->width, 96);
  EXPECT_EQ(frame_->height, 60);
  EXPECT_EQ(frame_->colorspace, AVCOL_SPC_BT470BG);
  EXPECT_EQ(frame_->decode_error_flags, 0);
  const GpuPicture* const picture = GpuPictureOf(*frame_);
  ASSERT_NE(picture, nullptr);
  EXPECT_EQ(picture->device, gpu_.device());
  EXPECT_EQ(picture->layout, AV_PIX_FMT_NV12);
  EXPECT_EQ(picture->stream_format, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(picture->pitch, 512u);
  EXPECT_EQ(picture->planes[1] - picture->planes[0],
            512u * 64u);  // rows of the coded picture, not of the displayed part
  EXPECT_NE(picture->ready, nullptr);
  ASSERT_TRUE(picture->UsedOn(reinterpret_cast<CUstream>(uintptr_t{48})).ok());
  EXPECT_EQ(gpu_.calls.back(), "EventRecord 48");
  av_frame_unref(frame_.get());
}

TEST_F(NvdecDecoderTest, DamageIsInTheFrame) {
  Open();
  gpu_.decode_status[1] = cuvidDecodeStatus_Error;
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1 D1");
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  for (const bool damaged : {false, true}) {
    ASSERT_TRUE(decoder_->Receive(frame_.get()).value());
    EXPECT_EQ(IsDamaged(*frame_), damaged);
    av_frame_unref(frame_.get());
  }
}

TEST_F(NvdecDecoderTest, DamageOfADiscardedPictureIsTold) {
  for (const int status :
       {cuvidDecodeStatus_Success, cuvidDecodeStatus_Error, cuvidDecodeStatus_Error_Concealed}) {
    gpu_.decode_status[1] = status;
    Open();
    SendAndReceive("S96x64 I0 D0");
    ASSERT_TRUE(Send("P1 D1", AV_PKT_FLAG_DISCARD).ok());
    EXPECT_THAT(SendAndReceive("P2 D2"), IsEmpty());
    EXPECT_THAT(Finish(), ElementsAre(0, 2));
    EXPECT_EQ(decoder_->TakeErrors(), status != cuvidDecodeStatus_Success);
  }
}

TEST_F(NvdecDecoderTest, DiscardedPicturesHoldNoSurface) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  Finish();
  decoder_->Reset();
  // Each is mapped because the next one overwrites its surface, more of them than there are
  // surfaces for frames.
  ASSERT_TRUE(Send("S96x64 I0 D0 P0 D0 P0 D0 P0 D0 P0 D0 P0 D0 P0", AV_PKT_FLAG_DISCARD).ok());
  EXPECT_THAT(SendAndReceive("P1 D1"), IsEmpty());
  EXPECT_THAT(Finish(), ElementsAre(2));
  EXPECT_FALSE(decoder_->TakeErrors());
}

TEST_F(NvdecDecoderTest, AnHevcPictureMayNotReferToOneThatWasNotDecoded) {
  const auto damaged = [this](const std::string& words) {
    decoder_->Reset();
    EXPECT_TRUE(Send("S96x64 I0 D0").ok());
    EXPECT_TRUE(Send("P1<0 D1").ok());
    EXPECT_TRUE(Send(words).ok());
    EXPECT_TRUE(decoder_->Send(nullptr).ok());
    bool last = false;
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(decoder_->Receive(frame_.get()).value());
      last = IsDamaged(*frame_);
      EXPECT_TRUE(i == 2 || !last);
      av_frame_unref(frame_.get());
    }
    EXPECT_EQ(decoder_->TakeErrors(), last);
    return last;
  };
  Open(AV_CODEC_ID_HEVC);
  for (const std::string set : {"<", ">", "="}) {
    EXPECT_FALSE(damaged("P2" + set + "1 D2"));
    EXPECT_TRUE(damaged("P2" + set + "3 D2")) << "no picture is in the surface";
    EXPECT_TRUE(damaged("P2" + set + "1@0 D2")) << "another picture is in the surface";
    EXPECT_TRUE(damaged("P2" + set + "-1 D2")) << "it names no surface";
    EXPECT_TRUE(damaged("P2" + set + "99 D2")) << "it names nothing";
  }
}

TEST_F(NvdecDecoderTest, NoPictureIsLeftOfTheRunBefore) {
  Open(AV_CODEC_ID_HEVC);
  EXPECT_TRUE(Send("S96x64 I0 I1").ok());
  decoder_->Reset();
  EXPECT_TRUE(Send("S96x64 I0 P2<1").ok());
  EXPECT_TRUE(decoder_->TakeErrors());
}

TEST_F(NvdecDecoderTest, APictureIsMappedBeforeItsSurfaceIsDecodedInto) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  gpu_.calls.clear();
  EXPECT_THAT(SendAndReceive("P0 D0"),
              ElementsAre(0));  // it is mapped already, so that it comes out at once
  ASSERT_GE(gpu_.calls.size(), 5u);
  EXPECT_THAT(gpu_.calls[1], "Map 0");
  EXPECT_EQ(gpu_.calls[4], "Decode 0");
  EXPECT_THAT(Finish(), ElementsAre(1));
}

TEST_F(NvdecDecoderTest, SurfacesAreForThePictureTheStreamNeedsAndThoseThatWait) {
  gpu_.min_surfaces = 7;
  Open();
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(gpu_.CallsOf("sequence"), ElementsAre("sequence 12"));
  EXPECT_EQ(gpu_.created[0].ulNumDecodeSurfaces, 12u);
}

TEST_F(NvdecDecoderTest, ANewSizeTakesAnotherSessionAndLosesNothing) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1 D1");
  EXPECT_THAT(SendAndReceive("S320x240 I0 D0"), IsEmpty());
  EXPECT_EQ(pool_->stats().in_use, 2);
  std::vector<int> widths;
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  while (decoder_->Receive(frame_.get()).value()) {
    widths.push_back(frame_->width);
    av_frame_unref(frame_.get());
  }
  EXPECT_THAT(widths, ElementsAre(96, 96, 320));
  EXPECT_EQ(pool_->stats().in_use, 1);
  EXPECT_EQ(pool_->stats().idle, 1);
  // Back to the small size: the large session could be reconfigured, but the small one needs no
  // change.
  decoder_->Reset();
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(3));
  EXPECT_EQ(pool_->stats().created, 2);
  EXPECT_EQ(pool_->stats().reconfigured, 0);
}

TEST_F(NvdecDecoderTest, AnotherDisplayedAreaKeepsTheSession) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("S96x64+8 I1 D1");
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  for (const int height : {64, 56}) {
    ASSERT_TRUE(decoder_->Receive(frame_.get()).value());
    EXPECT_EQ(frame_->height, height);
    av_frame_unref(frame_.get());
  }
  EXPECT_EQ(pool_->stats().created, 1);
}

TEST_F(NvdecDecoderTest, Vp9MayNotChangeItsSizeBetweenKeyFrames) {
  Open(AV_CODEC_ID_VP9);
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(SendAndReceive("S128x96 I0 D0"), IsEmpty());
  const absl::Status status = Send("S64x48 P1 D1");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

TEST_F(NvdecDecoderTest, APictureOfVp9ByItselfMayKeepOlderOnesOfAnotherSize) {
  Open(AV_CODEC_ID_VP9);
  SendAndReceive("S96x64 I0 D0");
  const absl::Status status = Send("S64x48 O1 D1");
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

TEST_F(NvdecDecoderTest, PicturesThatTheContainerDropsAreNotShown) {
  Open();
  ASSERT_TRUE(Send("S96x64 I0 D0", AV_PKT_FLAG_DISCARD).ok());
  SendAndReceive("P1 D1");
  EXPECT_THAT(Finish(), ElementsAre(1));
}

TEST_F(NvdecDecoderTest, PicturesThatTheParserMadeUpAreNotShown) {
  Open();
  SendAndReceive("S96x64 I0 D3 D0 D0");
  EXPECT_THAT(Finish(), ElementsAre(0));
}

TEST_F(NvdecDecoderTest, StartsAgainWithNothingOfBefore) {
  Open(AV_CODEC_ID_HEVC, "S96x64");
  SendAndReceive("I0 D0");
  SendAndReceive("P1 D1");
  SendAndReceive("P0 D0");  // maps the first picture
  decoder_->Reset();
  SendAndReceive("I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(3));
  EXPECT_EQ(gpu_.Count("CreateParser"), 2);
  EXPECT_EQ(gpu_.Count("DestroyParser"), 1);
  // The container's headers come first after each reset, without a picture.
  const auto parsed = gpu_.CallsOf("Parse");
  ASSERT_EQ(parsed.size(), 7u);
  EXPECT_EQ(parsed[0], "Parse S96x64");
  EXPECT_EQ(parsed[4], "Parse S96x64");
  EXPECT_EQ(pool_->stats().created, 1);
}

TEST_F(NvdecDecoderTest, TheNextDecoderTakesTheSession) {
  for (int i = 0; i < 3; ++i) {
    Open();
    SendAndReceive("S96x64 I0 D0");
    EXPECT_THAT(Finish(), ElementsAre(0));
    decoder_.reset();
  }
  EXPECT_EQ(pool_->stats().created, 1);
  EXPECT_EQ(pool_->stats().reused, 2);
  EXPECT_EQ(gpu_.Count("CreateDecoder"), 1);
}

TEST_F(NvdecDecoderTest, AFrameOutlivesItsDecoder) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  ASSERT_TRUE(decoder_->Receive(frame_.get()).value());
  decoder_.reset();
  EXPECT_EQ(pool_->stats().in_use, 1);
  EXPECT_TRUE(GpuPictureOf(*frame_)->UsedOn(nullptr).ok());
  EXPECT_EQ(gpu_.Count("Unmap"), 0);
  av_frame_unref(frame_.get());
  EXPECT_EQ(pool_->stats().in_use, 0);
  EXPECT_EQ(pool_->stats().idle, 1);
}

TEST_F(NvdecDecoderTest, Vp9MayShowAHiddenPictureLater) {
  Open(AV_CODEC_ID_VP9);
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1");  // a hidden picture
  SendAndReceive("P2 D2");
  EXPECT_THAT(SendAndReceive("D1"), IsEmpty());       // a packet of its own shows it
  EXPECT_THAT(SendAndReceive("D0"), ElementsAre(0));  // this picture was shown before
  EXPECT_THAT(Finish(), ElementsAre(2, 3, 4));
}

TEST_F(NvdecDecoderTest, ASizeMayChangeWhileOldPicturesWaitToBeShown) {
  Open();
  SendAndReceive("S96x64 I0");
  SendAndReceive("S320x240 D0 I0 D0");
  std::vector<int> widths;
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  while (decoder_->Receive(frame_.get()).value()) {
    widths.push_back(frame_->width);
    av_frame_unref(frame_.get());
  }
  EXPECT_THAT(widths, ElementsAre(96, 320));
}

TEST_F(NvdecDecoderTest, TheStreamsMatrixIsTakenFromItsHeaders) {
  gpu_.matrix_coefficients = AVCOL_SPC_BT709;
  for (const auto codec : {AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8}) {
    Open(codec);
    SendAndReceive("S96x64 I0 D0");
    ASSERT_TRUE(decoder_->Send(nullptr).ok());
    ASSERT_TRUE(decoder_->Receive(frame_.get()).value());
    // The headers of VP8 have no matrix, so that the container's counts.
    EXPECT_EQ(frame_->colorspace, codec == AV_CODEC_ID_HEVC ? AVCOL_SPC_BT709 : AVCOL_SPC_BT470BG);
    av_frame_unref(frame_.get());
  }
}

}  // namespace
}  // namespace nvc
