#include "tf_nvcodec/nv/decode/nvdec_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_releases.h"
#include "tf_nvcodec/nv/cuda/gpu_picture.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

class NvdecStreamTest : public ::testing::Test {
 protected:
  NvdecStreamTest() : codec_(avcodec_parameters_alloc()) {
    codec_->codec_id = AV_CODEC_ID_H264;
    codec_->format = AV_PIX_FMT_NONE;
    format_.codec = cudaVideoCodec_H264;
    format_.chroma_format = cudaVideoChromaFormat_420;
    format_.coded_width = 256;
    format_.coded_height = 128;
    format_.display_area.right = 250;
    format_.display_area.bottom = 120;
    format_.min_num_decode_surfaces = 5;
    format_.video_signal_description.matrix_coefficients = 2;
    format_.video_signal_description.color_primaries = 2;
    format_.video_signal_description.transfer_characteristics = 2;
  }

  void SetDepth(int bit_depth) {
    format_.bit_depth_luma_minus8 = format_.bit_depth_chroma_minus8 =
        static_cast<unsigned char>(bit_depth - 8);
  }

  NvdecStream Of() {
    auto stream = NvdecStream::Of(format_, *codec_, window_);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return std::move(stream).value();
  }

  CUVIDEOFORMAT format_ = {};
  AvCodecParametersPtr codec_;
  std::optional<PictureWindow> window_;
};

TEST_F(NvdecStreamTest, FormatsAreThoseOfSoftwareDecoders) {
  struct Case {
    cudaVideoChromaFormat chroma;
    int bit_depth;
    AVPixelFormat described, layout, stream_format;
  };
  constexpr Case kCases[] = {
      {cudaVideoChromaFormat_420, 8, AV_PIX_FMT_NONE, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P},
      {cudaVideoChromaFormat_420, 8, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P},
      {cudaVideoChromaFormat_420, 10, AV_PIX_FMT_NONE, AV_PIX_FMT_P016LE, AV_PIX_FMT_YUV420P10LE},
      {cudaVideoChromaFormat_420, 12, AV_PIX_FMT_NONE, AV_PIX_FMT_P016LE, AV_PIX_FMT_YUV420P12LE},
      {cudaVideoChromaFormat_444, 8, AV_PIX_FMT_NONE, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P},
      {cudaVideoChromaFormat_444, 10, AV_PIX_FMT_NONE, AV_PIX_FMT_YUV444P16LE,
       AV_PIX_FMT_YUV444P10LE},
      {cudaVideoChromaFormat_Monochrome, 8, AV_PIX_FMT_GRAY8, AV_PIX_FMT_NV12, AV_PIX_FMT_GRAY8},
      {cudaVideoChromaFormat_Monochrome, 10, AV_PIX_FMT_NONE, AV_PIX_FMT_P016LE,
       AV_PIX_FMT_GRAY10LE},
      {cudaVideoChromaFormat_Monochrome, 8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12,
       AV_PIX_FMT_YUV420P},
  };
  for (const Case& test : kCases) {
    format_.chroma_format = test.chroma;
    SetDepth(test.bit_depth);
    codec_->format = test.described;
    const NvdecStream stream = Of();
    EXPECT_EQ(stream.layout, test.layout);
    EXPECT_EQ(stream.stream_format, test.stream_format);
    EXPECT_EQ(stream.coded.bit_depth, test.bit_depth);
  }
}

TEST_F(NvdecStreamTest, RefusesWhatSurfacesCantHold) {
  format_.bit_depth_chroma_minus8 = 2;
  EXPECT_TRUE(absl::IsUnimplemented(NvdecStream::Of(format_, *codec_, window_).status()));
  format_.bit_depth_chroma_minus8 = 0;
  format_.chroma_format = cudaVideoChromaFormat_444;
  format_.video_signal_description.matrix_coefficients = 0;
  EXPECT_THAT(NvdecStream::Of(format_, *codec_, window_).status().message(), HasSubstr("RGB"));
  format_.video_signal_description.matrix_coefficients = 1;
  codec_->format = AV_PIX_FMT_GBRP;
  EXPECT_THAT(NvdecStream::Of(format_, *codec_, window_).status().message(), HasSubstr("RGB"));
}

TEST_F(NvdecStreamTest, ADisplayedAreaOutsideThePictureIsDataLoss) {
  format_.display_area.right = 257;
  EXPECT_TRUE(absl::IsDataLoss(NvdecStream::Of(format_, *codec_, window_).status()));
  format_.display_area.right = 0;
  EXPECT_TRUE(absl::IsDataLoss(NvdecStream::Of(format_, *codec_, window_).status()));
}

TEST_F(NvdecStreamTest, TheStreamsOwnWindowGoesBeforeTheParsers) {
  window_.emplace();
  window_->left = 70, window_->top = 4, window_->width = 100, window_->height = 96;
  window_->chroma_location = AVCHROMA_LOC_TOPLEFT;
  const NvdecStream stream = Of();
  EXPECT_EQ(stream.left, kCropsExactly ? 70 : 64);
  EXPECT_EQ(stream.top, 4);
  EXPECT_EQ(stream.width, kCropsExactly ? 100 : 106);
  EXPECT_EQ(stream.height, 96);
  EXPECT_EQ(stream.chroma_location, AVCHROMA_LOC_TOPLEFT);
  window_->width = 256 + 1 - 70;  // an odd size that the parser has rounded
  EXPECT_EQ(Of().coded.width, 257);
  window_->width = 256 + 2 - 70;  // too large: a window of another sequence
  EXPECT_EQ(Of().width, 250);
}

TEST_F(NvdecStreamTest, CropsAtTheLeftAsFfmpegDoes) {
  format_.display_area.left = 70;
  EXPECT_EQ(Of().left, 64);
  EXPECT_EQ(Of().width, 250 - 64);
  format_.display_area.left = 6;
  EXPECT_EQ(Of().left, 0);
  SetDepth(10);
  format_.display_area.left = 70;
  EXPECT_EQ(Of().left, 64);
  format_.display_area.left = 40;
  EXPECT_EQ(Of().left, 32);
  SetDepth(8);
  format_.chroma_format = cudaVideoChromaFormat_444;
  EXPECT_EQ(Of().left, 32);
}

TEST_F(NvdecStreamTest, ColorsOfTheStreamGoBeforeThoseOfTheContainer) {
  codec_->color_space = AVCOL_SPC_SMPTE170M;
  codec_->color_range = AVCOL_RANGE_MPEG;
  codec_->color_primaries = AVCOL_PRI_SMPTE170M;
  codec_->chroma_location = AVCHROMA_LOC_TOPLEFT;
  EXPECT_EQ(Of().color_space, AVCOL_SPC_SMPTE170M);
  EXPECT_EQ(Of().color_range, AVCOL_RANGE_MPEG);
  EXPECT_EQ(Of().chroma_location, AVCHROMA_LOC_TOPLEFT);
  format_.video_signal_description.matrix_coefficients = AVCOL_SPC_BT2020_NCL;
  format_.video_signal_description.video_full_range_flag = 1;
  EXPECT_EQ(Of().color_space, AVCOL_SPC_BT2020_NCL);
  EXPECT_EQ(Of().color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(Of().color_primaries, AVCOL_PRI_SMPTE170M);
}

TEST_F(NvdecStreamTest, PlanesBeginWhereTheFrameIsShown) {
  FakeGpu gpu;
  format_.display_area.left = 64;
  format_.display_area.top = 6;
  for (const auto chroma : {cudaVideoChromaFormat_420, cudaVideoChromaFormat_444}) {
    format_.chroma_format = chroma;
    SetDepth(10);
    const NvdecStream stream = Of();
    std::shared_ptr<NvdecSession> session =
        NvdecSession::Create(gpu.device(), gpu.cuvid(), stream.coded, 4).value();
    NvdecSurface* const surface = session->Map({}).value();
    AvFramePtr frame(av_frame_alloc());
    ASSERT_TRUE(MakeFrame(stream, session, surface, frame.get()).ok());
    const GpuPicture& picture = *GpuPictureOf(*frame);
    const CUdeviceptr memory = surface->memory();
    constexpr CUdeviceptr kPitch = 512, kPlane = kPitch * 128;
    EXPECT_EQ(picture.planes[0], memory + 6 * kPitch + 64 * 2);
    if (chroma == cudaVideoChromaFormat_420) {
      EXPECT_EQ(picture.planes[1], memory + kPlane + 3 * kPitch + 32 * 4);
    } else {
      EXPECT_EQ(picture.planes[1], memory + kPlane + 6 * kPitch + 64 * 2);
      EXPECT_EQ(picture.planes[2], memory + 2 * kPlane + 6 * kPitch + 64 * 2);
    }
  }
}

}  // namespace
}  // namespace nvc
