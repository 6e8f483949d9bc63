// Tests the decoder with streams that NVDEC can't decode, and with errors of the GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/nv/decode/nvdec_decoder_fixture.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using NvdecDecoderErrorsTest = NvdecDecoderTest;

TEST_F(NvdecDecoderErrorsTest, APictureThatCantBeDecodedIsAnErrorOfItsPacket) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  gpu_.Fail("Decode", kCudaInvalidValue);
  EXPECT_TRUE(absl::IsDataLoss(Send("P1 D1")));
  EXPECT_TRUE(decoder_->TakeErrors());
  EXPECT_FALSE(decoder_->TakeErrors());
  SendAndReceive("P2 D2");
  SendAndReceive("P1 D1");  // into the same surface
  EXPECT_THAT(Finish(), ElementsAre(0, 2, 3));
  decoder_.reset();
  EXPECT_EQ(pool_->stats().failed, 1);
}

TEST_F(NvdecDecoderErrorsTest, APictureThatCantBeMappedIsLeftOut) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1 D1");
  gpu_.Fail("Map", kCudaInvalidValue, /*times=*/1, /*good=*/1);
  EXPECT_THAT(Finish(), ElementsAre(0));
  EXPECT_TRUE(decoder_->TakeErrors());
}

TEST_F(NvdecDecoderErrorsTest, ALostContextIsToldAgainAndAgain) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  gpu_.Fail("Decode", 700);
  EXPECT_EQ(Send("P1 D1").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Send("P2 D2").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(decoder_->Receive(frame_.get()).status().code(), absl::StatusCode::kInternal);
}

TEST_F(NvdecDecoderErrorsTest, ALostContextWhileMapping) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  gpu_.Fail("Map", 700);
  ASSERT_TRUE(decoder_->Send(nullptr).ok());
  EXPECT_EQ(decoder_->Receive(frame_.get()).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(decoder_->Send(nullptr).code(), absl::StatusCode::kInternal);
}

TEST_F(NvdecDecoderErrorsTest, OutOfMemoryPassesWithTheMemory) {
  Open();
  gpu_.Fail("CreateDecoder", kCudaOutOfMemory, /*times=*/2);
  EXPECT_TRUE(absl::IsResourceExhausted(Send("S96x64 I0 D0")));
  decoder_->Reset();
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(1));
}

TEST_F(NvdecDecoderErrorsTest, WhatOnlyTheStreamsHeadersTellIsRefusedThen) {
  Open();
  const absl::Status status = Send("S96x64/10 I0 D0");
  ASSERT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("vp8 in 10-bit 4:2:0, only in 8-bit 4:2:0"));
  EXPECT_TRUE(absl::IsUnimplemented(Send("S96x64 I0 D0")));
  EXPECT_EQ(pool_->stats().created, 0);
}

TEST_F(NvdecDecoderErrorsTest, WhatCameBeforeARefusalIsShown) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  SendAndReceive("P1 D1");
  EXPECT_TRUE(absl::IsUnimplemented(Send("S96x64/10 I2 D2")));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(decoder_->Receive(frame_.get()).ok());
    EXPECT_EQ(PacketPos(*frame_), i);
    av_frame_unref(frame_.get());
  }
  EXPECT_TRUE(absl::IsUnimplemented(decoder_->Receive(frame_.get()).status()));
  EXPECT_TRUE(absl::IsUnimplemented(Send("S96x64 I0 D0")));
}

TEST_F(NvdecDecoderErrorsTest, PicturesAfterABadSequenceHeaderAreNotOfTheOneBefore) {
  Open();
  SendAndReceive("S96x64 I0 D0");
  EXPECT_TRUE(absl::IsDataLoss(Send("S96x64+64")));  // the displayed area is empty
  gpu_.calls.clear();
  EXPECT_TRUE(absl::IsDataLoss(Send("P1 D1")));
  EXPECT_THAT(gpu_.CallsOf("Decode"), IsEmpty());
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(0, 3));
}

TEST_F(NvdecDecoderErrorsTest, NothingOfBeforeABadSequenceHeaderIsShownAgain) {
  Open(AV_CODEC_ID_VP9);
  SendAndReceive("S96x64 I0 D0");
  EXPECT_TRUE(absl::IsDataLoss(Send("S96x64+64")));
  EXPECT_TRUE(absl::IsDataLoss(Send("P0 D0")));
  EXPECT_THAT(Finish(), ElementsAre(0));
}

TEST_F(NvdecDecoderErrorsTest, RefusesPicturesAboveMaxPixels) {
  DecoderOptions options;
  options.max_pixels = 1920 * 1080;
  Open(AV_CODEC_ID_VP8, "", options);
  EXPECT_TRUE(Send("S1920x1088+8 I0 D0").ok()) << "a coded picture may be a little larger";
  const absl::Status status = Send("S1920x1200 I0 D0");
  ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("max_pixels"));
}

TEST_F(NvdecDecoderErrorsTest, APictureBeforeAnySequenceIsAnErrorOfItsPacket) {
  Open();
  EXPECT_TRUE(absl::IsDataLoss(Send("P0 D0")));
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(1));
}

TEST_F(NvdecDecoderErrorsTest, APacketThatTheParserCantReadIsAnErrorOfIt) {
  Open();
  gpu_.Fail("Parse", 999);
  EXPECT_TRUE(absl::IsDataLoss(Send("S96x64 I0 D0")));
  SendAndReceive("S96x64 I0 D0");
  EXPECT_THAT(Finish(), ElementsAre(1));
}

TEST_F(NvdecDecoderErrorsTest, RefusesCodecsAtOnce) {
  for (const AVCodecID codec : {AV_CODEC_ID_FFV1, AV_CODEC_ID_MPEG4, AV_CODEC_ID_VC1}) {
    const absl::Status status = TryToOpen(codec, "");
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(avcodec_get_name(codec)));
  }
}

}  // namespace
}  // namespace nvc
