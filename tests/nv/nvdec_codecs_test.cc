#include "tf_nvcodec/nv/nvdec_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

void ExpectRefused(const absl::Status& status, const std::string& reason) {
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr(reason));
}

TEST(NvdecCodecsTest, NumbersAndNames) {
  EXPECT_EQ(NvdecCodec(AV_CODEC_ID_HEVC).value(), cudaVideoCodec_HEVC);
  EXPECT_TRUE(CheckNvdecIsUsedFor(AV_CODEC_ID_HEVC).ok());
  EXPECT_STREQ(NvdecCodecName(cudaVideoCodec_MPEG2), "mpeg2video");
  EXPECT_EQ(CodecOfNvdecNumber(cudaVideoCodec_MPEG2), AV_CODEC_ID_MPEG2VIDEO);
  EXPECT_EQ(CodecOfNvdecNumber(-1), AV_CODEC_ID_NONE);
}

TEST(NvdecCodecsTest, OthersAreRefusedByName) {
  // Some GPUs have it; it is not used.
  const std::string said = "not used for codec 'vc1', only for h264, hevc, av1";
  ExpectRefused(NvdecCodec(AV_CODEC_ID_VC1).status(), said);
  ExpectRefused(CheckNvdecIsUsedFor(AV_CODEC_ID_VC1), said);
}

TEST(NvdecCodecsTest, WhatNvdecGetsWrongIsNotUsed) {
  EXPECT_TRUE(NvdecCodec(AV_CODEC_ID_MPEG4).ok());  // an NVDEC decoder may be asked about it
  ExpectRefused(CheckNvdecIsUsedFor(AV_CODEC_ID_MPEG4), "'mpeg4': its B pictures are not");
  EXPECT_THAT(NvdecCodecs(), Contains(cudaVideoCodec_JPEG));
  EXPECT_THAT(NvdecCodecs(), Not(Contains(cudaVideoCodec_MPEG4)));
  EXPECT_THAT(NvdecCodec(AV_CODEC_ID_VC1).status().message(), Not(HasSubstr("mpeg4")));
}

}  // namespace
}  // namespace nvc
