#include "tf_nvcodec/nv/encode/encode_backend.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/encode/nvenc_settings.h"

namespace nvc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kNoNvenc[] = "no NVENC on NVIDIA H200 (NVENCSTATUS 2)";

MATCHER(SaysWhat, "") { return absl::StrContains(std::get<0>(arg), std::get<1>(arg)); }

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

  // Encodes, and expects these encoders to run and these words for each time that `say` is called.
  absl::Status Run(EncodeBackend backend, const std::vector<std::string>& ran,
                   const std::vector<std::string>& words = {}) {
    std::string out;
    StringBytes bytes(&out);
    std::vector<std::string> said;
    ran_.clear();
    const auto timing = FrameTiming::FromFps(25);
    const absl::Status status =
        EncodeWith(engines_, backend, frames_, *timing, options_, nullptr, &bytes,
                   [&](const std::string& why) { said.push_back(why); });
    EXPECT_EQ(ran_, ran);
    EXPECT_THAT(said, testing::Pointwise(SaysWhat(), words));
    return status;
  }

  std::vector<uint8_t> memory_;
  NvencGpu gpu_;
  FrameBatch frames_;
  EncodeOptions options_;
  EncodeEngines engines_;
  absl::Status no_gpu_, nvenc_result_, cpu_result_;
  int asked_ = 0;
  std::vector<std::string> ran_;
};

// For tests that need this machine's libavcodec to have NVENC's encoders, with or without a GPU.
class NvencBackendTest : public EncodeBackendTest {
  void SetUp() override {
    for (const EncodeCodec codec : {EncodeCodec::kH264, EncodeCodec::kHevc}) {
      if (!FindNvencEncoder(codec).ok()) GTEST_SKIP() << "libavcodec has no NVENC";
    }
  }
};

TEST_F(EncodeBackendTest, Names) {
  EXPECT_EQ(*ParseEncodeBackend("auto"), EncodeBackend::kAuto);
  EXPECT_EQ(*ParseEncodeBackend("cpu"), EncodeBackend::kCpu);
  EXPECT_EQ(*ParseEncodeBackend("nvenc"), EncodeBackend::kNvenc);
  EXPECT_THAT(std::string(ParseEncodeBackend("gpu").status().message()),
              HasSubstr("auto, cpu, nvenc"));
}

TEST_F(EncodeBackendTest, TheCpuAsksNoGpuAndAutoIsTheCpuUnlessSwitchedOn) {
  EXPECT_TRUE(Run(EncodeBackend::kCpu, {"cpu"}).ok());
  engines_.auto_tries_nvenc = false;
  EXPECT_TRUE(Run(EncodeBackend::kAuto, {"cpu"}).ok());
  EXPECT_EQ(asked_, 0);
}

TEST_F(NvencBackendTest, AutoTakesNvencForPlainCallsAndTags) {
  options_.gop = 10;
  options_.bitrate = 500000;
  EXPECT_TRUE(Run(EncodeBackend::kAuto, {"nvenc"}).ok());
  options_.codec_options = {{"color_trc", "smpte2084"}, {"sar", "4/3"}};
  EXPECT_TRUE(Run(EncodeBackend::kAuto, {"nvenc"}).ok());
}

TEST_F(NvencBackendTest, AutoUsesTheCpuForOptionsWithAnotherMeaning) {
  const EncodeOptions plain = options_;
  const auto expect = [&](const char* words) {
    EXPECT_TRUE(Run(EncodeBackend::kAuto, {"cpu"}, {words}).ok()) << words;
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

TEST_F(NvencBackendTest, AutoFallsBackUnlessItIsCancelledOrTheCpuFailsToo) {
  nvenc_result_ = absl::UnimplementedError("no frames that small");
  EXPECT_TRUE(Run(EncodeBackend::kAuto, {"nvenc", "cpu"}, {"no frames that small"}).ok());
  cpu_result_ = absl::InvalidArgumentError("NaN");
  EXPECT_EQ(Run(EncodeBackend::kAuto, {"nvenc", "cpu"}), cpu_result_);
  cpu_result_ = absl::OkStatus();
  nvenc_result_ = absl::CancelledError("cancelled");
  EXPECT_EQ(Run(EncodeBackend::kAuto, {"nvenc"}), nvenc_result_);
  no_gpu_ = absl::FailedPreconditionError(kNoNvenc);
  EXPECT_TRUE(Run(EncodeBackend::kAuto, {"cpu"}, {kNoNvenc}).ok());
}

TEST_F(NvencBackendTest, NvencNeverFallsBack) {
  EXPECT_TRUE(Run(EncodeBackend::kNvenc, {"nvenc"}).ok());
  nvenc_result_ = absl::InvalidArgumentError("bad frames");
  EXPECT_EQ(Run(EncodeBackend::kNvenc, {"nvenc"}), nvenc_result_);
  no_gpu_ = absl::FailedPreconditionError(kNoNvenc);
  EXPECT_EQ(
      Run(EncodeBackend::kNvenc, {}),
      absl::FailedPreconditionError(absl::StrCat(
          "backend=\"nvenc\": ", kNoNvenc, "; backend=\"auto\" or \"cpu\" encodes on the CPU")));
  no_gpu_ = absl::OkStatus();
  options_.codec = EncodeCodec::kHevc;
  gpu_.codecs = {"h264"};
  const absl::Status lacks = Run(EncodeBackend::kNvenc, {});
  EXPECT_EQ(lacks.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(lacks.message()),
              HasSubstr("the NVENC of NVIDIA L4 encodes h264, not hevc"));
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

// Asks a driver that opens sessions with this status and has these codecs.
absl::StatusOr<std::vector<std::string>> Codecs(NVENCSTATUS status, std::vector<GUID> has,
                                                const std::string& gpu) {
  open_status = status;
  guids = std::move(has);
  const auto codecs = NvencCodecs(MadeUpNvenc(), nullptr, gpu);
  EXPECT_EQ(sessions, 0);
  return codecs;
}

TEST(NvencCodecsTest, ListsTheCodecsOrSaysWhyThereAreNone) {
  EXPECT_THAT(Codecs(NV_ENC_SUCCESS,
                     {NV_ENC_CODEC_H264_GUID, GUID{1, 2, 3, {4}}, NV_ENC_CODEC_HEVC_GUID}, "L4")
                  .value(),
              ElementsAre("h264", "hevc"));
  EXPECT_EQ(Codecs(NV_ENC_ERR_UNSUPPORTED_DEVICE, {}, "NVIDIA H200").status(),
            absl::FailedPreconditionError(kNoNvenc));
  EXPECT_THAT(std::string(Codecs(NV_ENC_SUCCESS, {}, "NVIDIA A100").status().message()),
              HasSubstr("no NVENC on NVIDIA A100"));
  // A busy NVENC is not a missing one.
  EXPECT_TRUE(absl::IsResourceExhausted(Codecs(NV_ENC_ERR_OUT_OF_MEMORY, {}, "L4").status()));
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
  EXPECT_EQ(NvencCapabilities(MadeUpNvenc(), nullptr, "NVIDIA L4", "av1").status(),
            absl::UnimplementedError("the NVENC of NVIDIA L4 has no encoder of av1"));
  open_status = NV_ENC_ERR_UNSUPPORTED_DEVICE;
  EXPECT_EQ(NvencCapabilities(MadeUpNvenc(), nullptr, "NVIDIA H200", "h264").status(),
            absl::FailedPreconditionError(kNoNvenc));
  EXPECT_EQ(sessions, 0);
}

}  // namespace
}  // namespace nvc
