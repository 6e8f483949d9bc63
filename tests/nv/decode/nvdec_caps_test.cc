#include "tf_nvcodec/nv/decode/nvdec_caps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

class NvdecCapsTest : public ::testing::Test {
 protected:
  absl::Status Check(AVCodecID codec, AVPixelFormat format, int width = 1280, int height = 720) {
    AvCodecParametersPtr parameters(avcodec_parameters_alloc());
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = codec;
    parameters->format = format;
    parameters->width = width;
    parameters->height = height;
    return CheckNvdecTakes(gpu_.device(), *parameters);
  }

  void ExpectRefused(const absl::Status& status, const std::string& reason) {
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }

  FakeGpu gpu_;
};

TEST_F(NvdecCapsTest, TakesWhatTheGpuSays) {
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P).ok());
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUVJ420P).ok());
  EXPECT_TRUE(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P10LE).ok());
  EXPECT_TRUE(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV444P).ok());
}

TEST_F(NvdecCapsTest, NamesWhatItDoesNotTake) {
  ExpectRefused(Check(AV_CODEC_ID_FFV1, AV_PIX_FMT_YUV420P), "'ffv1'");
  ExpectRefused(Check(AV_CODEC_ID_AV1, AV_PIX_FMT_YUV420P),
                "Fake H200's NVDEC does not decode av1");
  ExpectRefused(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P10LE),
                "h264 in 10-bit 4:2:0, only in 8-bit 4:2:0");
  ExpectRefused(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P12LE),
                "hevc in 12-bit 4:2:0, only in 8-bit 4:2:0, 10-bit 4:2:0, 8-bit 4:4:4");
  ExpectRefused(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV422P), "8-bit 4:2:2");
  ExpectRefused(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_GRAY8), "8-bit 4:0:0");
  ExpectRefused(Check(AV_CODEC_ID_HEVC, AV_PIX_FMT_GBRP), "gbrp");
  ExpectRefused(Check(AV_CODEC_ID_VP9, AV_PIX_FMT_YUVA420P), "yuva420p");
  ExpectRefused(Check(AV_CODEC_ID_VP9, AV_PIX_FMT_YUV440P), "yuv440p");
}

TEST_F(NvdecCapsTest, NamesSizes) {
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 48, 16).ok());
  ExpectRefused(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 32, 32),
                "48x16 to 4096x4096, not 32x32");
  ExpectRefused(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 4112, 64), "not 4112x64");
  ExpectRefused(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 4096, 4096), "32768 macroblocks");
}

TEST_F(NvdecCapsTest, WhatTheContainerDoesNotTellIsLeftToTheParser) {
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_NONE).ok());
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 0, 0).ok());
  ExpectRefused(Check(AV_CODEC_ID_AV1, AV_PIX_FMT_NONE), "does not decode av1");
}

TEST_F(NvdecCapsTest, AsksTheGpuOnce) {
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P).ok());
  const int asked = gpu_.num_caps_asked;
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, 640, 480).ok());
  EXPECT_EQ(gpu_.num_caps_asked, asked);
}

TEST_F(NvdecCapsTest, AFailureIsNoAnswer) {
  gpu_.Fail("GetDecoderCaps", 719);
  EXPECT_EQ(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P).code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P).ok());
}

TEST_F(NvdecCapsTest, AFailureForOtherKindsIsNotInTheWay) {
  gpu_.Fail("GetDecoderCaps", 999, /*times=*/1, /*good=*/1);
  ExpectRefused(Check(AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P10LE), "only in 8-bit 4:2:0");
  gpu_.Fail("GetDecoderCaps", 719, /*times=*/9);
  EXPECT_EQ(Check(AV_CODEC_ID_VP8, AV_PIX_FMT_NONE).code(), absl::StatusCode::kInternal);
}

TEST(NvdecCapsWithoutNvdecTest, SaysWhichLibraryIsMissing) {
  FakeGpu gpu;
  const auto device = GpuDevice::Make(&gpu.device()->cuda(),
                                      absl::FailedPreconditionError("no libnvcuvid.so.1"), 0);
  ASSERT_TRUE(device.ok()) << device.status();
  NvdecFormat format;
  format.codec = cudaVideoCodec_H264;
  const absl::Status status = CheckNvdecTakes(*device, format);
  delete *device;
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("libnvcuvid.so.1"));
}

}  // namespace
}  // namespace nvc
