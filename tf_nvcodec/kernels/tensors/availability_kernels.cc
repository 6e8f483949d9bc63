#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_nvcodec/core/ffmpeg/ffmpeg_versions.h"
#include "tf_nvcodec/nv/cuda/availability.h"
#include "tf_nvcodec/nv/cuda/driver.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

std::string LoadedOrWhyNot(const absl::Status& status) {
  return status.ok() ? "loaded" : std::string(status.message());
}

// Returns (name, value) pairs. A name with a slash means an entry of a group.
std::vector<std::pair<std::string, std::string>> BuildInfo() {
  std::vector<std::pair<std::string, std::string>> info = {
      {"compiler", absl::StrCat("gcc ", __VERSION__)},
      {"ffmpeg/release", FfmpegRelease()},
      {"ffmpeg/license", FfmpegLicense()},
      {"ffmpeg/linked", FfmpegIsInside() ? "static" : "shared"},
      {"ffmpeg/decoders", FfmpegVideoCodecs(/*encoders=*/false)},
      {"ffmpeg/encoders", FfmpegVideoCodecs(/*encoders=*/true)},
      {"gpu_libraries/libcuda.so.1", LoadedOrWhyNot(GetCudaDriver().status())},
      {"gpu_libraries/libnvcuvid.so.1", LoadedOrWhyNot(GetCuvidDriver().status())},
      {"gpu_libraries/libnvidia-encode.so.1", LoadedOrWhyNot(GetNvencDriver().status())},
  };
  for (const LibraryVersion& version : FfmpegLibraryVersions()) {
    info.emplace_back(absl::StrCat(version.library, "/build"), version.build);
    info.emplace_back(absl::StrCat(version.library, "/run"), version.run);
  }
  return info;
}

class AvailabilityOp : public OpKernel {
 public:
  explicit AvailabilityOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("engine", &engine_));
  }

  void Compute(OpKernelContext* context) override {
    const absl::StatusOr<std::string> found = engine_ == "nvdec" ? FindNvdec() : FindNvenc();
    Tensor* available = nullptr;
    Tensor* detail = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &available));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({}), &detail));
    available->scalar<bool>()() = found.ok();
    detail->scalar<tstring>()() = found.ok() ? *found : std::string(found.status().message());
  }

 private:
  std::string engine_;
};

class BuildInfoOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    const auto info = BuildInfo();
    const TensorShape shape({static_cast<int64_t>(info.size())});
    Tensor* names = nullptr;
    Tensor* values = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape, &names));
    OP_REQUIRES_OK(context, context->allocate_output(1, shape, &values));
    for (size_t i = 0; i < info.size(); ++i) {
      names->vec<tstring>()(i) = info[i].first;
      values->vec<tstring>()(i) = info[i].second;
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("NvcAvailability").Device(::tensorflow::DEVICE_CPU), AvailabilityOp);
REGISTER_KERNEL_BUILDER(Name("NvcBuildInfo").Device(::tensorflow::DEVICE_CPU), BuildInfoOp);

}  // namespace
}  // namespace nvc
