#include "tf_nvcodec/nv/decode/decode_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/nv/testing/nvdec_fake.h"
#include "tf_nvcodec/core/ffmpeg/av_ptr.h"

namespace nvc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DecodeBackendTest : public ::testing::Test {
 protected:
  // Returns the chosen GPU, or null for FFmpeg.
  absl::StatusOr<GpuDevice*> Choose(Backend backend, bool frames_on_gpu, AVCodecID codec,
                                    int width = 1280) {
    AvCodecParametersPtr parameters(avcodec_parameters_alloc());
    parameters->codec_type = AVMEDIA_TYPE_VIDEO;
    parameters->codec_id = codec;
    parameters->format = AV_PIX_FMT_YUV420P;
    parameters->width = width;
    parameters->height = 720;
    return ChooseDecoder(backend, frames_on_gpu ? gpu_.device() : nullptr, *parameters, &why_not_);
  }

  FakeGpu gpu_;
  std::string why_not_;
};

TEST_F(DecodeBackendTest, NamesAreParsed) {
  EXPECT_EQ(*ParseBackend("nvdec"), Backend::kNvdec);
  EXPECT_THAT(ParseBackend("gpu").status().message(), HasSubstr("auto, cpu, nvdec"));
}

TEST_F(DecodeBackendTest, AutoFollowsTheFrames) {
  EXPECT_EQ(*Choose(Backend::kAuto, true, AV_CODEC_ID_H264), gpu_.device());
  EXPECT_EQ(*Choose(Backend::kAuto, false, AV_CODEC_ID_H264), nullptr);
  EXPECT_THAT(why_not_, IsEmpty()) << "nobody expects a GPU there";
  EXPECT_EQ(*Choose(Backend::kCpu, true, AV_CODEC_ID_H264), nullptr);
  EXPECT_THAT(why_not_, IsEmpty());
}

TEST_F(DecodeBackendTest, AutoSaysWhyItFallsBack) {
  EXPECT_EQ(*Choose(Backend::kAuto, true, AV_CODEC_ID_AV1), nullptr);
  EXPECT_THAT(why_not_, HasSubstr("does not decode av1"));
  EXPECT_EQ(*Choose(Backend::kAuto, true, AV_CODEC_ID_H264, 8192), nullptr);
  EXPECT_THAT(why_not_, HasSubstr("8192x720"));
  EXPECT_EQ(*Choose(Backend::kAuto, true, AV_CODEC_ID_MPEG2VIDEO), nullptr);
  EXPECT_THAT(why_not_, HasSubstr("NVDEC is not used for codec 'mpeg2video', only for h264"));
  EXPECT_EQ(*Choose(Backend::kAuto, true, AV_CODEC_ID_H264), gpu_.device());
  EXPECT_THAT(why_not_, IsEmpty()) << "of the call before";
}

TEST_F(DecodeBackendTest, NvdecIsThatOrAnError) {
  EXPECT_EQ(*Choose(Backend::kNvdec, true, AV_CODEC_ID_H264), gpu_.device());
  const absl::Status mpeg4 = Choose(Backend::kNvdec, true, AV_CODEC_ID_MPEG4).status();
  EXPECT_TRUE(absl::IsUnimplemented(mpeg4));
  EXPECT_THAT(mpeg4.message(),
              AllOf(HasSubstr("backend=\"nvdec\": NVDEC is not used for codec 'mpeg4'"),
                    HasSubstr("\"cpu\" decodes with FFmpeg")));
  const absl::Status refused = Choose(Backend::kNvdec, true, AV_CODEC_ID_AV1).status();
  EXPECT_TRUE(absl::IsUnimplemented(refused));
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("backend=\"nvdec\": "), HasSubstr("av1"), HasSubstr("\"auto\"")));
}

TEST_F(DecodeBackendTest, AGpuThatFailsIsNoReasonToFallBack) {
  gpu_.Fail("GetDecoderCaps", 700, 100);  // an illegal address: the context is lost
  EXPECT_TRUE(absl::IsInternal(Choose(Backend::kAuto, true, AV_CODEC_ID_VP8, 1024).status()));
}

TEST_F(DecodeBackendTest, DamageIsDecodedAgainAndWhatIsUnsupportedOnlyWithAuto) {
  std::vector<std::string> said;
  const auto say = [&](const std::string& why) { said.push_back(why); };
  const DamagedFrames damaged = {{3, absl::DataLossError("bits")}};
  const DamagedFrames unsupported = {{3, absl::DataLossError("bits")},
                                     {4, absl::UnimplementedError("12-bit 4:2:2")}};
  NvdecQuota quota(*gpu_.device(), 4);
  const int64_t before = SegmentsDecodedAgain();
  for (const Backend backend : {Backend::kAuto, Backend::kNvdec}) {
    const DecoderFactory decoder = DecodeOnGpu(gpu_.device(), backend, &quota, say);
    EXPECT_EQ(decoder.max_workers, 4);
    EXPECT_EQ(decoder.quota, &quota);
    EXPECT_TRUE(decoder.before_decoding_again(damaged).ok());
    EXPECT_THAT(said, IsEmpty());
  }
  EXPECT_EQ(SegmentsDecodedAgain(), before + 2);
  EXPECT_TRUE(DecodeOnGpu(gpu_.device(), Backend::kAuto, &quota, say)
                  .before_decoding_again(unsupported)
                  .ok());
  EXPECT_THAT(said, ElementsAre("12-bit 4:2:2"));
  const absl::Status strict =
      DecodeOnGpu(gpu_.device(), Backend::kNvdec, &quota, say).before_decoding_again(unsupported);
  EXPECT_TRUE(absl::IsUnimplemented(strict));
  EXPECT_THAT(strict.message(), HasSubstr("12-bit 4:2:2"));
  EXPECT_EQ(SegmentsDecodedAgain(), before + 3);
}

}  // namespace
}  // namespace nvc
