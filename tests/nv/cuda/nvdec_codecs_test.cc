#include "tf_nvcodec/nv/cuda/nvdec_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nvc {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NvdecCodecsTest, NumbersAndNames) {
  EXPECT_EQ(NvdecCodec(AV_CODEC_ID_HEVC).value(), cudaVideoCodec_HEVC);
  EXPECT_STREQ(NvdecCodecName(cudaVideoCodec_MPEG2), "mpeg2video");
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

TEST(NvdecCodecsTest, SomeAreNeverTaken) {
  EXPECT_THAT(NvdecCodecs(), Not(Contains(cudaVideoCodec_VC1)));
  for (const absl::Status& status :
       {NvdecCodec(AV_CODEC_ID_VC1).status(), CheckTakenUnasked(AV_CODEC_ID_VC1)}) {
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("codec 'vc1': its pictures differ from FFmpeg's"));
  }
}

TEST(NvdecCodecsTest, SomeMayDifferInTheLastBit) {
  const absl::Status status = CheckExact(AV_CODEC_ID_MPEG2VIDEO);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("mpeg2video may differ in the last bit"));
  EXPECT_TRUE(CheckExact(AV_CODEC_ID_VP8).ok());
}

}  // namespace
}  // namespace nvc
