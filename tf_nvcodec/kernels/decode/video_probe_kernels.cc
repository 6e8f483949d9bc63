#include <memory>
#include <string>

#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/env.h"
#include "tf_nvcodec/core/base/cancelled.h"
#include "tf_nvcodec/core/decode/video_info.h"
#include "tf_nvcodec/kernels/decode/fallback_log.h"
#include "tf_nvcodec/kernels/stream/file_source.h"
#include "tf_nvcodec/kernels/tensors/kernel_util.h"

namespace nvc {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::tstring;

class VideoProbeOp : public OpKernel {
 public:
  explicit VideoProbeOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("max_pixels", &limits_.max_pixels));
    OP_REQUIRES_OK(context, context->GetAttr("max_frames", &limits_.max_frames));
    OP_REQUIRES_OK(context, context->GetAttr("max_packets", &limits_.max_packets));
    OP_REQUIRES_OK(context, ReadTimeout(context, &timeout_));
    std::string source;
    OP_REQUIRES_OK(context, context->GetAttr("source", &source));
    is_file_ = source == "files";
  }

  void Compute(OpKernelContext* context) override {
    absl::string_view contents;
    OP_REQUIRES_OK(context, GetContents(context, &contents));
    const Cancelled cancelled = StepCancelled(context, timeout_);
    const CancelScope scope(cancelled);
    auto source = Open(contents);
    OP_REQUIRES_OK(context, source.status());
    auto info = ProbeVideo(**source, limits_, cancelled);
    OP_REQUIRES_OK(context, info.status());
    LogOddMatrix(info->odd_matrix);
    int output = 0;
    const auto emit = [&](auto value) {
      return SetScalar<decltype(value)>(context, output++, value);
    };
    OP_REQUIRES_OK(context, emit(info->width));
    OP_REQUIRES_OK(context, emit(info->height));
    OP_REQUIRES_OK(context, emit(info->num_frames));
    OP_REQUIRES_OK(context, emit(info->fps));
    OP_REQUIRES_OK(context, emit(info->duration));
    OP_REQUIRES_OK(context, emit(tstring(info->codec)));
    OP_REQUIRES_OK(context, emit(tstring(info->pixel_format)));
    OP_REQUIRES_OK(context, emit(info->bit_depth));
    OP_REQUIRES_OK(context, emit(info->orientation.rotation()));
    OP_REQUIRES_OK(context, emit(tstring(info->color_space)));
    OP_REQUIRES_OK(context, emit(tstring(info->color_range)));
    OP_REQUIRES_OK(context, emit(info->has_audio));
    OP_REQUIRES_OK(context, emit(info->sample_aspect_ratio));
    OP_REQUIRES_OK(context, emit(tstring(info->color_primaries)));
    OP_REQUIRES_OK(context, emit(tstring(info->color_transfer)));
    OP_REQUIRES_OK(context, emit(info->orientation.mirrored()));
  }

 private:
  absl::StatusOr<std::unique_ptr<ByteSource>> Open(absl::string_view contents) const {
    if (!is_file_) return std::make_unique<MemorySource>(contents);
    auto* const env = ::tensorflow::Env::Default();
    const std::string name(contents);
    uint64_t size = 0;
    TF_RETURN_IF_ERROR(env->GetFileSize(name, &size));
    return OpenFile(env, name, static_cast<int64_t>(size));
  }

  FrameIndex::Limits limits_;
  double timeout_ = 0;
  bool is_file_ = false;
};

REGISTER_KERNEL_BUILDER(Name("VideoProbe").Device(::tensorflow::DEVICE_CPU), VideoProbeOp);

}  // namespace
}  // namespace nvc
