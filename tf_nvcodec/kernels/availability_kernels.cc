#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/public/version.h"
#include "tf_nvcodec/nv/availability.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
}

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

std::string AvVersion(unsigned version) {
  return absl::StrCat(AV_VERSION_MAJOR(version), ".", AV_VERSION_MINOR(version), ".",
                      AV_VERSION_MICRO(version));
}

std::vector<std::pair<std::string, std::string>> BuildInfo() {
  return {
      {"compiler", absl::StrCat("gcc ", __VERSION__)},
      {"tensorflow_build", TF_VERSION_STRING},
      {"ffmpeg_run", av_version_info()},
      {"ffmpeg_license", avformat_license()},
      {"libavformat_build", AvVersion(LIBAVFORMAT_VERSION_INT)},
      {"libavformat_run", AvVersion(avformat_version())},
      {"libavcodec_build", AvVersion(LIBAVCODEC_VERSION_INT)},
      {"libavcodec_run", AvVersion(avcodec_version())},
      {"libavutil_build", AvVersion(LIBAVUTIL_VERSION_INT)},
      {"libavutil_run", AvVersion(avutil_version())},
      {"libswscale_build", AvVersion(LIBSWSCALE_VERSION_INT)},
      {"libswscale_run", AvVersion(swscale_version())},
  };
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
