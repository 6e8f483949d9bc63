#include "tf_nvcodec/nv/encode/encode_backend.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs one encode. Functions of the test stand in for the machine's GPU and encoders.
class EncodeBackendTest : public ::testing::Test {
 protected:
  EncodeBackendTest() : memory_(96 * 64 * 6, 100) {
    gpu_.name = "NVIDIA L4";
    gpu_.codecs = {"h264", "hevc", "av1"};
    frames_.pixel_format = PixelFormat::kRgb;
    frames_.width = 96;
    frames_.height = 64;
    frames_.count = 1;
    frames_.frame_bytes = 96 * 64 * 3;
    frames_.data = memory_.data();
    engines_.auto_tries_nvenc = true;
    engines_.find = [this]() -> absl::StatusOr<const NvencGpu*> {
      ++asked_;
      if (!no_gpu_.ok()) return no_gpu_;
      return &gpu_;
    };
    engines_.write = [this](const FrameBatch&, const FrameTiming&, const EncodeOptions& options,
                            const Cancelled&, GrowingBytes*) {
      const bool nvenc = options.engine == EncodeEngine::kNvenc;
      ran_.push_back(nvenc ? "nvenc" : "cpu");
      return nvenc ? nvenc_result_ : cpu_result_;
    };
  }

  absl::Status Run(EncodeBackend backend) {
    std::string out;
    StringBytes bytes(&out);
    const auto timing = FrameTiming::FromFps(25);
    return EncodeWith(engines_, backend, frames_, *timing, options_, nullptr, &bytes,
                      [this](const std::string& why) { said_.push_back(why); });
  }

  void SetUp() override {
    if (!FindNvencEncoder(options_.codec).ok()) GTEST_SKIP() << "libavcodec has no NVENC";
  }

  std::vector<uint8_t> memory_;
  NvencGpu gpu_;
  FrameBatch frames_;
  EncodeOptions options_;
  EncodeEngines engines_;
  absl::Status no_gpu_, nvenc_result_, cpu_result_;
  int asked_ = 0;
  std::vector<std::string> ran_, said_;
};

TEST_F(EncodeBackendTest, Names) {
  EXPECT_EQ(*ParseEncodeBackend("auto"), EncodeBackend::kAuto);
  EXPECT_EQ(*ParseEncodeBackend("cpu"), EncodeBackend::kCpu);
  EXPECT_EQ(*ParseEncodeBackend("nvenc"), EncodeBackend::kNvenc);
  EXPECT_THAT(std::string(ParseEncodeBackend("gpu").status().message()),
              HasSubstr("auto, cpu, nvenc"));
}

TEST_F(EncodeBackendTest, WhoEncodesAndWhatIsSaid) {
  constexpr EncodeBackend kAuto = EncodeBackend::kAuto, kNvenc = EncodeBackend::kNvenc;
  const absl::Status ok, small = absl::UnimplementedError("no frames that small"),
                         nan = absl::InvalidArgumentError("NaN"),
                         says_nan = absl::InvalidArgumentError("NaN, says NVENC"),
                         cancelled = absl::CancelledError("cancelled"),
                         none = absl::FailedPreconditionError("no NVENC on NVIDIA H200");
  const absl::Status refused = absl::FailedPreconditionError(
      "backend=\"nvenc\": no NVENC on NVIDIA H200; backend=\"auto\" or \"cpu\" encodes on the CPU");
  const struct {
    EncodeBackend backend;
    bool tries;
    absl::Status find, nvenc, cpu, want;
    std::vector<std::string> ran, said;
  } cases[] = {
      {EncodeBackend::kCpu, true, none, ok, ok, ok, {"cpu"}, {}},
      {kAuto, false, none, ok, ok, ok, {"cpu"}, {}},
      {kAuto, true, ok, ok, ok, ok, {"nvenc"}, {}},
      {kAuto, true, ok, small, ok, ok, {"nvenc", "cpu"}, {"no frames that small"}},
      {kAuto, true, none, ok, ok, ok, {"cpu"}, {"no NVENC on NVIDIA H200"}},
      {kAuto, true, ok, cancelled, ok, cancelled, {"nvenc"}, {}},
      {kAuto, true, ok, says_nan, nan, nan, {"nvenc", "cpu"}, {}},
      {kNvenc, true, ok, ok, ok, ok, {"nvenc"}, {}},
      {kNvenc, true, ok, says_nan, ok, says_nan, {"nvenc"}, {}},
      {kNvenc, true, none, ok, ok, refused, {}, {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(&one - cases);
    engines_.auto_tries_nvenc = one.tries;
    no_gpu_ = one.find;
    nvenc_result_ = one.nvenc;
    cpu_result_ = one.cpu;
    asked_ = 0;
    ran_.clear();
    said_.clear();
    EXPECT_EQ(Run(one.backend), one.want);
    EXPECT_EQ(ran_, one.ran);
    EXPECT_EQ(said_, one.said);
    EXPECT_EQ(asked_ > 0, one.backend == kNvenc || (one.backend == kAuto && one.tries));
  }
}

TEST_F(EncodeBackendTest, AutoTakesNvencWithPlainOptionsAndTags) {
  options_.gop = 10;
  options_.bitrate = 500000;
  options_.codec_options = {{"color_trc", "smpte2084"}, {"sar", "4/3"}};
  EXPECT_TRUE(Run(EncodeBackend::kAuto).ok());
  EXPECT_THAT(ran_, ElementsAre("nvenc"));
}

TEST_F(EncodeBackendTest, AutoUsesTheCpuForOptionsWithAnotherMeaning) {
  const EncodeOptions plain = options_;
  const auto expect = [&](const char* words) {
    ran_.clear();
    said_.clear();
    EXPECT_TRUE(Run(EncodeBackend::kAuto).ok()) << words;
    EXPECT_THAT(ran_, ElementsAre("cpu"));
    EXPECT_THAT(said_, ElementsAre(HasSubstr(words)));
    options_ = plain;
  };
  options_.quality = 20;
  expect("crf is on the scale of libx264");
  options_.preset = "fast";
  expect("preset is one of libx264");
  options_.codec_options = {{"sar", "4/3"}, {"tune", "film"}};
  expect("options[\"tune\"] is one of libx264");
  options_.pixel_format = "yuv422p";
  expect("NVENC makes no yuv422p of rgb frames in h264");
  options_.codec = EncodeCodec::kMjpeg;
  expect("h264, hevc and av1, not mjpeg");
  frames_.sample_type = SampleType::kUint16;
  frames_.frame_bytes *= 2;
  expect("NVENC makes no yuv420p10le of rgb frames");
  EXPECT_EQ(asked_, 0);
}

TEST_F(EncodeBackendTest, ACodecThatTheGpuLacksIsNamed) {
  options_.codec = EncodeCodec::kHevc;
  gpu_.codecs = {"h264"};
  const absl::Status status = Run(EncodeBackend::kNvenc);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the NVENC of NVIDIA L4 encodes h264, not hevc"));
  EXPECT_THAT(ran_, IsEmpty());
}

// The tests below ask a fake NVENC driver, whose functions use these variables.
int sessions = 0;
NVENCSTATUS open_status = NV_ENC_SUCCESS;
std::vector<GUID> guids;

NvencDriver MadeUpNvenc() {
  NvencDriver nvenc;
  nvenc.api.nvEncOpenEncodeSessionEx = [](NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS* params,
                                          void** session) {
    EXPECT_EQ(params->deviceType, NV_ENC_DEVICE_TYPE_CUDA);
    *session = &sessions;  // a failed open sets it too
    ++sessions;
    return open_status;
  };
  nvenc.api.nvEncGetEncodeGUIDCount = [](void*, uint32_t* count) {
    *count = static_cast<uint32_t>(guids.size());
    return NV_ENC_SUCCESS;
  };
  nvenc.api.nvEncGetEncodeGUIDs = [](void*, GUID* out, uint32_t room, uint32_t* count) {
    EXPECT_EQ(room, guids.size());
    for (size_t i = 0; i < guids.size(); ++i) out[i] = guids[i];
    *count = static_cast<uint32_t>(guids.size());
    return NV_ENC_SUCCESS;
  };
  nvenc.api.nvEncDestroyEncoder = [](void*) {
    --sessions;
    return NV_ENC_SUCCESS;
  };
  return nvenc;
}

TEST(NvencCodecsTest, ListsTheCodecs) {
  open_status = NV_ENC_SUCCESS;
  guids = {NV_ENC_CODEC_H264_GUID, GUID{1, 2, 3, {4}}, NV_ENC_CODEC_HEVC_GUID};
  const auto codecs = NvencCodecs(MadeUpNvenc(), nullptr, "NVIDIA L4");
  ASSERT_TRUE(codecs.ok()) << codecs.status();
  EXPECT_THAT(*codecs, ElementsAre("h264", "hevc"));
  EXPECT_EQ(sessions, 0);
}

TEST(NvencCodecsTest, NamesAGpuWithoutNvenc) {
  open_status = NV_ENC_ERR_UNSUPPORTED_DEVICE;
  const auto none = NvencCodecs(MadeUpNvenc(), nullptr, "NVIDIA H200");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(none.status().message(), "no NVENC on NVIDIA H200 (NVENCSTATUS 2)");
  EXPECT_EQ(sessions, 0);
  open_status = NV_ENC_SUCCESS;
  guids.clear();
  EXPECT_THAT(std::string(NvencCodecs(MadeUpNvenc(), nullptr, "NVIDIA A100").status().message()),
              HasSubstr("no NVENC on NVIDIA A100"));
  EXPECT_EQ(sessions, 0);
}

TEST(NvencCodecsTest, ABusyNvencIsNotAMissingOne) {
  open_status = NV_ENC_ERR_OUT_OF_MEMORY;
  EXPECT_EQ(NvencCodecs(MadeUpNvenc(), nullptr, "a GPU").status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(sessions, 0);
}

TEST(NvencCapabilitiesTest, ReturnsTheDriversAnswers) {
  open_status = NV_ENC_SUCCESS;
  guids = {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID};
  NvencDriver nvenc = MadeUpNvenc();
  nvenc.api.nvEncGetEncodeCaps = [](void* session, GUID codec, NV_ENC_CAPS_PARAM* asked,
                                    int* value) {
    EXPECT_EQ(session, &sessions);
    EXPECT_EQ(asked->version, NV_ENC_CAPS_PARAM_VER);
    // An older driver does not know this capability.
    if (asked->capsToQuery == NV_ENC_CAPS_SINGLE_SLICE_INTRA_REFRESH)
      return NV_ENC_ERR_INVALID_PARAM;
    const bool hevc = codec.Data1 == GUID(NV_ENC_CODEC_HEVC_GUID).Data1;
    *value = static_cast<int>(asked->capsToQuery) + (hevc ? 1000 : 0);
    return NV_ENC_SUCCESS;
  };
  const auto told = NvencCapabilities(nvenc, nullptr, "NVIDIA L4", "hevc");
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->size(), size_t{NV_ENC_CAPS_SINGLE_SLICE_INTRA_REFRESH});
  for (size_t i = 0; i < told->size(); ++i) {
    EXPECT_EQ((*told)[i].value, 1000 + static_cast<int>(i)) << (*told)[i].name;
  }
  EXPECT_STREQ((*told)[NV_ENC_CAPS_NUM_MAX_BFRAMES].name, "num_max_bframes");
  EXPECT_STREQ((*told)[NV_ENC_CAPS_SUPPORT_10BIT_ENCODE].name, "support_10bit_encode");
  EXPECT_STREQ((*told)[NV_ENC_CAPS_NUM_ENCODER_ENGINES].name, "num_encoder_engines");
  EXPECT_EQ(sessions, 0);
}

TEST(NvencCapabilitiesTest, NamesAMissingCodecAndAGpuWithoutNvenc) {
  open_status = NV_ENC_SUCCESS;
  guids = {NV_ENC_CODEC_H264_GUID};
  const auto no_codec = NvencCapabilities(MadeUpNvenc(), nullptr, "NVIDIA L4", "av1");
  EXPECT_EQ(no_codec.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(no_codec.status().message(), "the NVENC of NVIDIA L4 has no encoder of av1");
  open_status = NV_ENC_ERR_UNSUPPORTED_DEVICE;
  const auto none = NvencCapabilities(MadeUpNvenc(), nullptr, "NVIDIA H200", "h264");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(none.status().message(), "no NVENC on NVIDIA H200 (NVENCSTATUS 2)");
  EXPECT_EQ(sessions, 0);
}

}  // namespace
}  // namespace nvc
