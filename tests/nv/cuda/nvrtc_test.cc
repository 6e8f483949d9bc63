// Compiles the kernels with the installed NVRTC, which needs no GPU. Without NVRTC the tests are
// skipped. To run them:
//     pip install nvidia-cuda-nvrtc-cu12
//     scripts/bazel.sh test --test_env=TF_NVCODEC_NVRTC=<folder of libnvrtc.so.12>
//     //tests/nv/cuda:cuda_test
#include "tf_nvcodec/nv/cuda/nvrtc.h"

#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tf_nvcodec/nv/kernels/frame_kernel_plan.h"
#include "tf_nvcodec/nv/kernels/kernel_sources.h"

namespace nvc {
namespace {

using ::testing::HasSubstr;

const char* Folder() { return std::getenv("TF_NVCODEC_NVRTC"); }
const bool kFolderSet = (Folder() != nullptr ? SetNvrtcFolders({Folder()}) : void(), true);

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<const Nvrtc*> found = Nvrtc::Get();
    if (!found.ok()) {
      ASSERT_EQ(Folder(), nullptr) << found.status();
      EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(found.status().message()), HasSubstr("pip install"));
      GTEST_SKIP() << found.status();
    }
    nvrtc_ = *found;
  }

  const Nvrtc* nvrtc_ = nullptr;
};

// Returns the macros of every kernel that conversions between these formats need.
std::set<std::vector<std::string>> AllKernels() {
  std::set<std::vector<std::string>> kernels;
  for (AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P,
                               AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10}) {
    for (PixelFormat to :
         {PixelFormat::kNative, PixelFormat::kRgb, PixelFormat::kGray, PixelFormat::kNv12,
          PixelFormat::kYuv420p, PixelFormat::kYuv444p, PixelFormat::kP010}) {
      for (int type = 0; type < (Channels(to) == 3 ? 4 : 1); ++type) {
        for (int method = -1; method < 4; ++method) {
          OutputSpec output;
          output.pixel_format = to;
          output.sample_type = static_cast<SampleType>(type);
          output.layout = type % 2 == 0 ? Layout::kThwc : Layout::kTchw;
          if (method >= 0) output.height = 224, output.width = type == 0 ? 398 : 30;
          if (method >= 0) output.resize_method = static_cast<ResizeMethod>(method);
          SourceSpec source;
          source.width = 1280, source.height = 720, source.format = format;
          const auto plan = MakeFrameKernelPlan(output, source);
          if (!plan.ok()) continue;
          for (const FrameKernelJob& job : plan->jobs) kernels.insert(KernelMacros(job.config));
        }
      }
    }
  }
  return kernels;
}

TEST_F(NvrtcTest, CompilesEveryKernelToMachineCode) {
  const std::set<std::vector<std::string>> kernels = AllKernels();
  EXPECT_GT(kernels.size(), 60u);
  for (const std::vector<std::string>& macros : kernels) {
    const auto image = nvrtc_->Compile(FrameKernelSource(), 90, macros);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->substr(1, 3), "ELF") << absl::StrJoin(macros, " ");
    EXPECT_THAT(*image, HasSubstr(kFrameKernel));
  }
}

TEST_F(NvrtcTest, CompilesTheOtherKernels) {
  for (const auto& [source, kernel, macro] :
       {std::tuple(&RgbKernelSource(), kRgbKernel, "NVC_RGB=1"),
        std::tuple(&PlanesKernelSource(), kPlanesKernel, "NVC_PLANES=1")}) {
    const auto image = nvrtc_->Compile(*source, 90, {macro});
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->substr(1, 3), "ELF");
    EXPECT_THAT(*image, HasSubstr(kernel));
  }
}

TEST_F(NvrtcTest, CompilesToPtxForGpusThatItDoesNotKnow) {
  const auto image = nvrtc_->Compile(FrameKernelSource(), 999, *AllKernels().begin());
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_THAT(*image, HasSubstr(".version"));
  EXPECT_THAT(*image, HasSubstr(kFrameKernel));
}

TEST_F(NvrtcTest, RefusesGpusThatAreTooOldForIt) {
  EXPECT_EQ(nvrtc_->Compile(FrameKernelSource(), 10, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(NvrtcTest, ReportsTheCompilersErrors) {
  const auto image =
      nvrtc_->Compile({"broken.cu", "__global__ void f() { return undeclared; }", {}}, 90, {});
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("undeclared"));
}

}  // namespace
}  // namespace nvc
