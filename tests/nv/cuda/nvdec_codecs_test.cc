#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(NvdecCodecsTest, NumbersAndNames) {
  EXPECT_EQ(NvdecCodec(AV_CODEC_ID_HEVC).value(), cudaVideoCodec_HEVC);
  EXPECT_STREQ(NvdecCodecName(cudaVideoCodec_MPEG2), "mpeg2video");
  EXPECT_EQ(CodecOfNvdecNumber(cudaVideoCodec_MPEG2), AV_CODEC_ID_MPEG2VIDEO);
  EXPECT_EQ(CodecOfNvdecNumber(-1), AV_CODEC_ID_NONE);
}

TEST(NvdecCodecsTest, OthersAreRefusedByName) {
  const absl::Status status = NvdecCodec(AV_CODEC_ID_FFV1).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("not used for codec 'ffv1', only for h264, hevc, av1"));
  EXPECT_THAT(NvdecCodecs(), Contains(cudaVideoCodec_JPEG));
}

TEST(NvdecCodecsTest, SomeAreTakenByNameAlone) {
  const absl::Status status = CheckTakenUnasked(AV_CODEC_ID_MPEG4);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("mpeg4"));
  EXPECT_THAT(status.message(), HasSubstr("backend=\"nvdec\""));
  EXPECT_TRUE(NvdecCodec(AV_CODEC_ID_MPEG4).ok());
  EXPECT_TRUE(CheckTakenUnasked(AV_CODEC_ID_MPEG2VIDEO).ok());
}

}  // namespace
}  // namespace nvc
